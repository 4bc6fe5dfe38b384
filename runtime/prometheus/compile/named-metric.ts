import type { SourceConfig } from "../../../crds/config.ts";
import { editDistance } from "../../errors/edit-distance.ts";
import { ExpressionError, type Selector } from "../language/expression.ts";
import type { NamedMetric } from "./forms.ts";
import type { LookUp } from "./look-up.ts";

/** Most edits between a name and one that it is taken for. */
const editsMax = 3;
/** Most names in a hint. */
const nearMax = 3;
/** Most names that are compared with an unknown one. */
const comparedMax = 500;

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

/** The names with the fewest edits, the nearest first. */
function nearNames(name: string, names: Iterable<string>): readonly string[] {
  const found: { readonly other: string; readonly edits: number }[] = [];
  let compared = 0;
  for (const other of names) {
    if (Math.abs(other.length - name.length) > editsMax) continue;
    if ((compared += 1) > comparedMax) break;
    found.push({ other, edits: editDistance(name, other) });
  }
  const most = Math.min(editsMax, Math.floor(name.length / 2));
  return found
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, nearMax)
    .map(({ other }) => other);
}
