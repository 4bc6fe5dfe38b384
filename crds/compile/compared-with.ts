import { isDeepStrictEqual } from "node:util";
import { placed } from "../checks/event-catalog.ts";
import type { EventCatalogConfig } from "../config.ts";
import { incompatibilities } from "../event-schema/incompatibilities.ts";
import { parseSchema } from "../event-schema/parse-schema.ts";
import type { ConfigPart } from "../part.ts";
import type { FieldProblem } from "../problem.ts";
import type { EventCatalog } from "../resource.ts";
import type { EvaluatedResource } from "./resource-result.ts";

/**
 * The catalog compared with its last published part. Within one version, a schema only gains optional properties and
 * values of open enumerations. A type or version that is not in both parts is not compared.
 */
export function comparedWith(evaluated: EvaluatedResource, last: ConfigPart | undefined): EvaluatedResource {
  const { resource, part } = evaluated;
  if (resource.kind !== "EventCatalog" || part?.kind !== "EventCatalog") return evaluated;
  if (last?.kind !== "EventCatalog") return part.config.generation > 1 ? uncompared(evaluated, part) : evaluated;
  if (last.config.specDigest === part.config.specDigest)
    return likeBefore(last.config.uncompared === true ? uncompared(evaluated, part) : evaluated, last);
  const problems = changedSchemas(resource, last.config);
  if (problems.length === 0) return evaluated;
  return { ...evaluated, fault: "Incompatible", problems, part: undefined, uniqueKeys: [] };
}

/** The very part that is applied already, if nothing changed, so that the next compilation recognises it. */
function likeBefore(evaluated: EvaluatedResource, last: ConfigPart): EvaluatedResource {
  return isDeepStrictEqual(evaluated.part, last) ? { ...evaluated, part: last } : evaluated;
}

function uncompared(
  evaluated: EvaluatedResource,
  part: Extract<ConfigPart, { readonly kind: "EventCatalog" }>,
): EvaluatedResource {
  return { ...evaluated, part: { ...part, config: { ...part.config, uncompared: true } } };
}

function changedSchemas({ spec }: EventCatalog, last: EventCatalogConfig): readonly FieldProblem[] {
  return spec.types.flatMap(({ type, versions }, index) =>
    versions.flatMap(({ version, schema }, place) => {
      const former = last.types
        .find((one) => one.type === type)
        ?.versions.find((one) => one.version === version)?.schema;
      if (former === undefined) return [];
      const [before, after] = [parseSchema(former).root, parseSchema(schema).root];
      if (before === undefined || after === undefined) return [];
      const field = `spec.types[${index}].versions[${place}].schema`;
      return incompatibilities(before, after).map((one) => ({
        ...placed(field, { ...one, detail: `${one.detail} of ${type}, now ${version}` }),
        reason: "Incompatible" as const,
      }));
    }),
  );
}
