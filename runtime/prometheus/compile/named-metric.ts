import type { SourceConfig } from "../../../crds/config.ts";
import { nearNames } from "../../errors/near-names.ts";
import { ExpressionError, type Selector } from "../language/expression.ts";
import type { NamedMetric } from "./forms.ts";
import type { LookUp } from "./look-up.ts";

interface NamePart {
  readonly suffix: string;
  readonly part: NonNullable<NamedMetric["part"]>;
  readonly isOf: (source: SourceConfig) => boolean;
}

const isHistogram = ({ kind }: SourceConfig): boolean => kind === "histogram";

/** The suffixes that stand for a part of a metric. */
const nameParts: readonly NamePart[] = [
  { suffix: "_bucket", part: "bucket", isOf: (source) => source.kind === "histogram" && source.type === "Classic" },
  { suffix: "_bucket", part: "nativeBucket", isOf: isHistogram },
  { suffix: "_sum", part: "sum", isOf: isHistogram },
  { suffix: "_count", part: "count", isOf: isHistogram },
  { suffix: ":total", part: "total", isOf: ({ kind }) => kind === "ratio" },
];

/** Finds the metric of a selector. @throws ExpressionError with near names for an unknown metric */
export function nameMetric(
  { metric: name, span }: Selector,
  lookUp: LookUp,
  names: () => Iterable<string>,
): NamedMetric {
  const whole = lookUp(name);
  if (whole !== undefined) return { ...whole, name };
  for (const { suffix, part, isOf } of nameParts) {
    const known = name.endsWith(suffix) ? lookUp(name.slice(0, -suffix.length)) : undefined;
    if (known !== undefined && isOf(known.metric.source)) return { ...known, name, part };
  }
  const near = nearNames(name, names());
  const hint = near.length === 0 ? "see /v1/metrics/catalog" : `did you mean ${near.join(", ")}`;
  throw new ExpressionError(`the metric ${name} is not in the catalog; ${hint}`, span.start + 1);
}
