import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { EventTypeDetail } from "../../../api/events.ts";
import { parseSchema } from "../../../crds/event-schema/parse-schema.ts";
import { validateData } from "../../../crds/event-schema/validate-data.ts";
import { typescriptTypes } from "../../../cli/webhooks/typescript-types.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

type Schema = Readonly<Record<string, unknown>>;
type Data = Readonly<Record<string, unknown>>;

const compiler = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));
const timeoutMs = 60_000;
const text = { type: "string" };

interface Row {
  readonly type: string;
  readonly version?: string;
  readonly schema: Schema;
  readonly examples: readonly Data[];
  /** Data that the schema rejects and whose type is wrong. */
  readonly wrong: readonly unknown[];
}

const objectOf = (properties: Schema, required: readonly string[] = [], more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
  ...more,
});

const rows: readonly Row[] = [
  {
    type: "payout.processed",
    schema: objectOf(
      {
        id: { ...text, description: "Ends */ early\nand has lines", format: "uuid" },
        status: { ...text, enum: ["processed", "failed"] },
        level: { ...text, enum: ["low"], "x-open-enum": true },
        amount: { type: "integer" },
        note: { type: ["string", "null"] },
        final: { const: true },
      },
      ["id", "status"],
    ),
    examples: [
      { id: "a", status: "processed" },
      { id: "a", status: "failed", level: "new", amount: 1, note: null, final: true },
      { id: "a", status: "failed", undeclared: 1 },
    ],
    wrong: [
      {},
      { id: "a" },
      { id: 1, status: "failed" },
      { id: "a", status: "other" },
      { id: "a", status: "failed", level: 1 },
      { id: "a", status: "failed", amount: "1" },
      { id: "a", status: "failed", amount: null },
      { id: "a", status: "failed", note: 1 },
      { id: "a", status: "failed", final: false },
      null,
      [],
      "text",
    ],
  },
  {
    type: "payout.processed",
    version: "2026-02-01",
    schema: objectOf({ id: { type: "integer" } }, ["id"]),
    examples: [{ id: 1 }],
    wrong: [{ id: "a", status: "processed" }],
  },
  {
    type: "payout_processed.x",
    schema: objectOf(
      { "not an identifier": text, 'quote"d': text, class: { type: "boolean" }, $ref: text, description: text },
      ["not an identifier"],
    ),
    examples: [{ "not an identifier": "a", 'quote"d': "b", class: true }],
    wrong: [{ 'quote"d': "b" }, { "not an identifier": "a", class: "yes" }],
  },
  {
    type: "payout.processed-x",
    schema: objectOf({}),
    examples: [{}, { anything: 1 }],
    wrong: ["text"],
  },
  {
    type: "refund.made",
    schema: objectOf(
      {
        from: { $ref: "#/$defs/party" },
        lines: { type: "array", items: { $ref: "#/$defs/line" } },
        labels: { type: "object", additionalProperties: text },
        mixed: { type: "object", properties: { count: { type: "integer" } }, additionalProperties: text },
        free: { type: "object", additionalProperties: true },
        any: {},
        matrix: { type: "array", items: { type: "array", items: { type: ["number", "null"] } } },
        // One branch at a time, and what branches have in common.
        method: {
          type: "object",
          required: ["kind"],
          properties: { kind: text },
          oneOf: [
            { properties: { kind: { const: "card" }, last4: text }, required: ["last4"] },
            { properties: { kind: { const: "sepa" }, iban: text }, required: ["iban"] },
          ],
        },
        both: { allOf: [objectOf({ a: text }, ["a"]), objectOf({ b: text }, ["b"])] },
      },
      ["from"],
      {
        $defs: {
          party: objectOf({ name: text, address: { $ref: "#/$defs/address" } }, ["name"]),
          address: objectOf({ city: text }, ["city"]),
          line: objectOf({ net: { type: "number" } }, ["net"]),
        },
      },
    ),
    examples: [
      { from: { name: "a" } },
      { from: { name: "a", address: { city: "b" } }, lines: [], labels: {} },
      { from: { name: "a" }, lines: [{ net: 1.5 }, { net: 2 }], labels: { x: "y" }, mixed: { count: 1, other: "x" } },
      { from: { name: "a" }, free: { x: [1] }, any: null, matrix: [[1, null], []] },
      { from: { name: "a" }, method: { kind: "card", last4: "1" } },
      { from: { name: "a" }, method: { kind: "sepa", iban: "1" }, both: { a: "1", b: "2" } },
    ],
    wrong: [
      { from: {} },
      { from: { name: "a", address: {} } },
      { from: { name: "a" }, lines: [{ net: "1" }] },
      { from: { name: "a" }, lines: { net: 1 } },
      { from: { name: "a" }, labels: { x: 1 } },
      { from: { name: "a" }, mixed: { count: true } },
      { from: { name: "a" }, matrix: [["1"]] },
      { from: { name: "a" }, method: { kind: "card" } },
      { from: { name: "a" }, method: { kind: "card", iban: "1" } },
      { from: { name: "a" }, both: { a: "1" } },
    ],
  },
  {
    type: "3ds.done",
    schema: objectOf({ open: { type: ["integer", "string"], enum: [1, "one"] } }, [], { additionalProperties: false }),
    examples: [{}, { open: 1 }, { open: "one" }],
    wrong: [{ open: 2 }, { open: "two" }, { open: null }],
  },
];

const types: readonly EventTypeDetail[] = [...Map.groupBy(rows, ({ type }) => type)].map(([type, own]) => ({
  type,
  description: "What happened */ then",
  state: "Active",
  owner: "team",
  versions: own
    .map(({ schema, examples, version = "2026-01-31" }) => ({ version, schema, examples, state: "Active" as const }))
    .reverse(),
}));

const event = (type: string, version: string, data: unknown): object => ({
  event_id: "e-1",
  ts: "2026-01-31T12:00:00.000Z",
  attempt: 1,
  type,
  version,
  data,
});

/** An expression of the narrowest type, so that texts are no longer than their literal. */
function expression(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(expression).join(", ")}]`;
  if (typeof value !== "object" || value === null)
    return value === null ? "null" : `(${JSON.stringify(value)} as const)`;
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}: ${expression(one)}`)
    .join(", ")}}`;
}

/** The lines that the compiler rejects. */
async function rejectedLines(lines: readonly string[]): Promise<readonly number[]> {
  const folder = await temporaryFolder("types");
  onTestFinished(() => folder.remove());
  const file = join(folder.path, "events.ts");
  await writeFile(file, lines.join("\n"));
  const stdout = await new Promise<string>((resolve) => {
    const args = [compiler, "--noEmit", "--strict", "--target", "es2022", "--types", "", "--pretty", "false", file];
    execFile(process.execPath, args, { cwd: folder.path, timeout: timeoutMs }, (_error, output) => resolve(output));
  });
  const found = stdout.split("\n").filter((line) => line.includes("error TS"));
  const places = found.map((line) => Number(/events\.ts\((?<line>\d+),/u.exec(line)?.groups?.["line"] ?? Number.NaN));
  return [...new Set(places)].toSorted((a, b) => a - b);
}

const printed = typescriptTypes(types);

test("data that a schema accepts has its type, and other data has not", { timeout: timeoutMs }, async () => {
  const lines = printed.split("\n");
  const expected: number[] = [];
  const add = (type: string, version: string, data: unknown, isValid: boolean): void => {
    const number = lines.length;
    lines.push(`const value${number} = ${expression(event(type, version, data))};`);
    lines.push(`export const event${number}: HeliographEvent = value${number};`);
    if (!isValid) expected.push(lines.length);
  };
  for (const { type, version = "2026-01-31", schema, examples, wrong } of rows) {
    const { root, problems } = parseSchema(schema);
    expect(problems).toEqual([]);
    const isValid = (data: unknown): boolean => root !== undefined && validateData(root, data, true).length === 0;
    expect({ type, invalid: examples.filter((data) => !isValid(data)), valid: wrong.filter(isValid) }).toEqual({
      type,
      invalid: [],
      valid: [],
    });
    for (const data of examples) add(type, version, data, true);
    for (const data of wrong) add(type, version, data, false);
  }
  add("payout.processed", "2026-03-01", { id: "a", status: "failed" }, false);
  add("unknown.type", "2026-01-31", {}, false);
  expect((await rejectedLines(lines)).map((line) => lines[line - 2])).toEqual(expected.map((line) => lines[line - 2]));
});

test("type and version tell events apart", { timeout: timeoutMs }, async () => {
  const lines = [
    ...printed.split("\n"),
    "export function read(event: HeliographEvent): unknown {",
    '  if (event.type === "payout.processed" && event.version === "2026-02-01") return event.data.id.toFixed(0);',
    '  if (event.type === "payout.processed" && event.version === "2026-01-31") return event.data.id.toUpperCase();',
    '  if (event.type === "refund.made") return event.data.from.address?.city;',
    '  if (event.type === "3ds.done") return event.data?.open;',
    "  return event.data.id;",
    "}",
  ];
  expect((await rejectedLines(lines)).map((line) => lines[line - 1])).toEqual(["  return event.data.id;"]);
});

test("no type is an empty union", () => {
  expect(typescriptTypes([])).toContain("export type HeliographEvent = never;");
});
