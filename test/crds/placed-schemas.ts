import type { CelRule, Schema } from "../tools/definition-schema.ts";

/** A schema below another, and where it is: `spec.metrics[].id`. */
export interface PlacedSchema {
  readonly place: string;
  readonly schema: Schema;
}

/** The schema and every schema below it, parents first. */
export function placedSchemas(schema: Schema, place: string): readonly PlacedSchema[] {
  return [
    { place, schema },
    ...Object.entries(schema.properties ?? {}).flatMap(([name, below]) => placedSchemas(below, `${place}.${name}`)),
    ...(schema.items === undefined ? [] : placedSchemas(schema.items, `${place}[]`)),
    ...(schema.additionalProperties === undefined ? [] : placedSchemas(schema.additionalProperties, `${place}.*`)),
  ];
}

/** Every CEL rule below a schema. */
export function placedRules(schema: Schema, place: string): readonly (CelRule & { readonly place: string })[] {
  return placedSchemas(schema, place).flatMap((placed) =>
    (placed.schema["x-kubernetes-validations"] ?? []).map((rule) => ({ ...rule, place: placed.place })),
  );
}
