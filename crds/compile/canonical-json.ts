import { createHash } from "node:crypto";

/** JSON with the members of every object in the order of their names: equal values give equal bytes. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => (isPlainObject(member) ? sorted(member) : member));
}

/** sha256 of the canonical JSON, lowercase hex. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

/** The order of names everywhere in a configuration: by UTF-16 code units, which no locale changes. */
export function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function sorted(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([one], [other]) => byText(one, other)));
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
