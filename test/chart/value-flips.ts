import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { chartFolder } from "./values-schema.ts";

/** JSON Schema, as far as the chart's values use it. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** A value of the chart, with another value than its default that the schema allows. */
export interface Flip {
  /** Such as `runtime.replicas`. */
  readonly path: string;
  readonly value: unknown;
}

/** Texts of which one matches each pattern of the schema. */
const samples = [
  "flipped",
  "768Mi",
  "0.25",
  "45s",
  "shop/flipped",
  "https://flipped.example.com",
  "tls://flipped.example.com:4222",
  `sha256:${"0".repeat(64)}`,
  "--flipped",
  "/run/flipped",
];

/** Every value of the schema that has no members of its own, flipped; those of Helm itself excepted. */
export function flips(): readonly Flip[] {
  const schema = JSON.parse(readFileSync(join(chartFolder, "values.schema.json"), "utf8")) as Schema;
  const defaults: unknown = parse(readFileSync(join(chartFolder, "values.yaml"), "utf8"));
  return leaves(schema, defaults, "").filter(({ path }) => path !== "global" && path !== "enabled");
}

function leaves(schema: Schema, current: unknown, path: string): readonly Flip[] {
  if (schema.properties === undefined) return [{ path, value: otherThan(schema, current, path) }];
  return Object.entries(schema.properties).flatMap(([name, inner]) =>
    leaves(inner, (current as Values | undefined)?.[name], path === "" ? name : `${path}.${name}`),
  );
}

/** An allowed value that is not the current one. @throws Error for a form of schema that is not known here */
function otherThan(schema: Schema, current: unknown, path: string): unknown {
  if (schema.enum !== undefined) return schema.enum.find((value) => value !== current);
  if (schema.anyOf?.[0] !== undefined) return otherThan(schema.anyOf[0], current, path);
  const other = others[[schema.type].flat()[0] ?? ""];
  if (other === undefined) throw new Error(`No other value is known for ${path}: extend test/chart/value-flips.ts.`);
  return other(schema, current, path);
}

const others: Readonly<Record<string, (schema: Schema, current: unknown, path: string) => unknown>> = {
  boolean: (_schema, current) => current !== true,
  integer: ({ minimum = 0, maximum = Infinity }, current) => {
    const next = typeof current === "number" ? current + 1 : minimum + 1;
    return next <= maximum ? next : minimum;
  },
  string: ({ pattern = "" }, _current, path) => {
    const sample = samples.find((text) => new RegExp(pattern, "u").test(text));
    if (sample === undefined) throw new Error(`No text is known for ${path}: add one to test/chart/value-flips.ts.`);
    return sample;
  },
  array: ({ items = {} }, _current, path) => [otherThan(items, undefined, `${path}[]`)],
  object: ({ properties }, _current, path) =>
    properties === undefined
      ? { flipped: "yes" }
      : Object.fromEntries(
          Object.entries(properties).map(([name, inner]) => [name, otherThan(inner, undefined, `${path}.${name}`)]),
        ),
};

type Values = Readonly<Record<string, unknown>>;

/** Values as Helm reads them from a file, of dotted paths. */
export function valuesOf(paths: Values): Values {
  const values: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(paths)) {
    const names = path.split(".");
    let inner = values;
    for (const name of names.slice(0, -1)) inner = inner[name] = { ...(inner[name] as Values | undefined) };
    inner[names.at(-1) ?? ""] = value;
  }
  return values;
}
