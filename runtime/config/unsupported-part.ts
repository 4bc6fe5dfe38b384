import type { EventMatcherConfig, SelectsConfig } from "../../crds/config.ts";

const names: ReadonlySet<string> = new Set<keyof SelectsConfig>(["producers", "matchers"]);
const operators: Readonly<Record<EventMatcherConfig["op"], true>> = {
  Equal: true,
  NotEqual: true,
  In: true,
  NotIn: true,
  Exists: true,
  NotExists: true,
  GreaterThan: true,
  LessThan: true,
  Prefix: true,
};
const types: Readonly<Record<NonNullable<EventMatcherConfig["type"]>, true>> = {
  String: true,
  Number: true,
  Boolean: true,
  Null: true,
};

/**
 * What this version does not know in the content that a subscription selects, if anything. It could narrow what the
 * partner gets, so it is never ignored.
 */
export function unsupportedPart(selects: SelectsConfig | undefined): string | undefined {
  const name = Object.keys(selects ?? {}).find((one) => !names.has(one));
  if (name !== undefined) return name;
  for (const { pointer, op, type = "String" } of selects?.matchers ?? []) {
    if (!Object.hasOwn(operators, op)) return `the operator ${op} of the matcher of ${pointer}`;
    if (!Object.hasOwn(types, type)) return `the type ${type} of the matcher of ${pointer}`;
  }
  return undefined;
}
