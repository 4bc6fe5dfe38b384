import { classDefaults } from "../../crds/compile/class-defaults.ts";
import { queryClasses, type ClassLimits } from "../../crds/config.ts";
import type { Kind } from "../../crds/resource.ts";
import type { Schema } from "../tools/definition-schema.ts";
import { fieldTable, ruleLines } from "./field-rows.ts";
import { resourceExamples } from "./resource-examples.ts";
import { definitionFiles, readDefinition, specSchema, type GeneratedFile } from "../tools/resource-types.ts";

const notice =
  "For platform teams that write this resource. You look up each field with its type, default, bounds and effect.\n\n" +
  "`npm run generate` writes this page from the definition in `crds/`. [Resources](../resources.md) gives the meanings " +
  "that a\nschema cannot hold: conditions, conflicts, warnings, and what becomes of an event.\n";

/** The page of each kind, as it should be. */
export function resourcePages(): readonly GeneratedFile[] {
  return definitionFiles.map((file) => {
    const definition = readDefinition(file);
    const text = pageText(definition.spec.names.kind, specSchema(definition));
    return { path: `docs/reference/resources/${file}.md`, text };
  });
}

function pageText(kind: Kind, spec: Schema): string {
  const properties = Object.entries(spec.properties ?? {});
  const simple = properties.filter(([, schema]) => !isGroup(schema));
  const top = { ...spec, properties: Object.fromEntries(simple) };
  const rules = ruleLines(spec, "spec");
  return [
    `# ${kind}\n`,
    notice,
    "Each object has `apiVersion: heliograph.dev/v1alpha1`, the `kind` and `metadata.name`. The tables list the fields of",
    "`spec`. `[]` marks a list. An object that is absent has the defaults of its fields.\n",
    "## Example\n",
    `\`\`\`yaml\n${resourceExamples[kind]}\`\`\`\n`,
    ...(simple.length === 0 ? [] : ["## spec\n", `${spec.description}\n`, `${fieldTable(top)}\n`]),
    ...properties.filter(([, schema]) => isGroup(schema)).flatMap(([name, schema]) => group(name, schema, spec)),
    ...(kind === "QueryClassQuota" ? [classTable(spec)] : []),
    "## Rules\n",
    "The API server and `heliograph validate` check these.\n",
    `${rules.join("\n")}\n`,
  ].join("\n");
}

/** True for an object, or a list of objects, with fields of its own. */
function isGroup(schema: Schema): boolean {
  return (schema.items ?? schema).properties !== undefined;
}

function group(name: string, schema: Schema, spec: Schema): readonly string[] {
  const below = schema.items ?? schema;
  const bounds =
    schema.type === "array" ? `, a list of ${schema.minItems ?? 0} to ${schema.maxItems ?? "any number of"} items` : "";
  const presence = spec.required?.includes(name) === true ? "Required" : "Optional";
  return [`## spec.${name}\n`, `${presence}${bounds}. ${schema.description}\n`, `${fieldTable(below)}\n`];
}

/** The limits that each class has where a quota names none. */
function classTable(spec: Schema): string {
  const rows = (["limits", "cache"] as const).flatMap((place) =>
    Object.keys(spec.properties?.[place]?.properties ?? {}).map((name) => {
      const values = queryClasses.map((queryClass) => classDefaults[queryClass][name as keyof ClassLimits]);
      return `| \`${place}.${name}\` | ${values.join(" | ")} |`;
    }),
  );
  const head = ["| Field | A | B | C |", "| --- | --- | --- | --- |"];
  const intro = "A limit or lifetime that a quota leaves out has the value of its class, independent of other quotas.";
  return ["## Defaults of the classes\n", `${intro}\n`, ...head, ...rows, ""].join("\n");
}
