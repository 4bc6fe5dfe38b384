import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Schema } from "../tools/definition-schema.ts";
import { rulesOf } from "../../crds/validate.ts";
import { definitionFiles, generatedFiles, readDefinition, specSchema, specSchemas } from "../tools/resource-types.ts";
import { placedRules, placedSchemas } from "./placed-schemas.ts";
import { ruleRows } from "./rule-rows.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const definitions = definitionFiles.map((file) => ({ file, definition: readDefinition(file) }));
const kinds = definitions.map(({ definition }) => definition.spec.names.kind);

const commonColumns: ReadonlySet<string> = new Set(["READY", "REASON", "PROGRAMMED", "AGE"]);
/** What the status of one kind has for a column of its own. */
const ownStatus: Readonly<Record<(typeof definitionFiles)[number], readonly string[]>> = {
  "webhook-partner": ["endpointHost"],
  "metric-catalog": ["metrics", "stores", "observed"],
  "query-class-quota": ["clients"],
  "event-catalog": ["types", "versions"],
};

/** The bound that a schema lacks, if it lacks one. */
function missingBound({ type, ...schema }: Schema): string | undefined {
  const bounds: Readonly<Record<Schema["type"], boolean>> = {
    string: schema.maxLength !== undefined || schema.enum !== undefined,
    array: schema.maxItems !== undefined && schema["x-kubernetes-list-type"] !== undefined,
    object: schema.additionalProperties === undefined || schema.maxProperties !== undefined,
    integer: schema.minimum !== undefined && schema.maximum !== undefined,
    number: schema.minimum !== undefined && schema.maximum !== undefined,
    boolean: true,
  };
  return bounds[type] ? undefined : type;
}

describe("the definitions", () => {
  test("have columns, subresource and status in common", () => {
    const common = definitions.map(({ definition, file }) => {
      const { schema, additionalPrinterColumns: columns, ...version } = definition.spec.versions[0];
      const status = schema.openAPIV3Schema.properties?.["status"];
      const own = ownStatus[file];
      const properties = Object.entries(status?.properties ?? {}).filter(([name]) => !own.includes(name));
      return {
        version,
        columns: columns.filter(({ name }) => commonColumns.has(name)),
        status: { ...status, properties: Object.fromEntries(properties) },
      };
    });
    expect(common[1]).toEqual(common[0]);
    expect(common[2]).toEqual(common[0]);
    expect(common[3]).toEqual(common[0]);
  });

  test("describe every field for kubectl explain", () => {
    const undescribed = definitions.flatMap(({ file, definition }) =>
      placedSchemas(definition.spec.versions[0].schema.openAPIV3Schema, file)
        .filter(({ place, schema }) => !place.endsWith(".metadata") && (schema.description ?? "").length < 10)
        .map(({ place }) => place),
    );
    expect(undescribed).toEqual([]);
  });

  test("bound every text, list, map and number of a spec", () => {
    const unbounded = definitions.flatMap(({ file, definition }) =>
      placedSchemas(specSchema(definition), file)
        .filter(({ schema }) => missingBound(schema) !== undefined)
        .map(({ place }) => place),
    );
    expect(unbounded).toEqual([]);
  });
});

describe("the generated files", () => {
  for (const { path, text } of generatedFiles()) {
    test(`${path} is what the definitions make of it`, () => {
      expect(readFileSync(`${root}/${path}`, "utf8")).toBe(text);
    });
  }
});

describe("the rules", () => {
  for (const kind of kinds) {
    const celRules = placedRules(specSchemas[kind], "spec");

    test(`of ${kind} are the same in CEL and here, in place and message`, () => {
      const here = rulesOf[kind].map(({ place, message }) => `${place}: ${message}`);
      const inCel = celRules.map(({ place, message }) => `${place}: ${message}`);
      expect(here.toSorted()).toEqual(inCel.toSorted());
      expect(new Set(here).size).toBe(here.length);
    });

    test(`of ${kind} each refuse a row of the table, at the field that CEL names`, () => {
      const untested = celRules.filter(({ place, message, fieldPath = "" }) => {
        const field = place + fieldPath;
        const rows = ruleRows.filter((row) => row.kind === kind && row.message === message);
        return !rows.some((row) => row.field.replaceAll(/\[\d+\]/gu, "[]").startsWith(field));
      });
      expect(untested).toEqual([]);
    });

    test(`of ${kind} have no row of the table without a rule`, () => {
      const messages = new Set(celRules.map(({ message }) => message));
      expect(ruleRows.filter((row) => row.kind === kind && !messages.has(row.message))).toEqual([]);
    });
  }
});
