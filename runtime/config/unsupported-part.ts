import type { EventMatcherConfig, PayloadConfig, SelectsConfig } from "../../crds/config.ts";

const names: ReadonlySet<string> = new Set<keyof SelectsConfig>([
  "producers",
  "matchers",
  "payload",
  "order",
  "format",
]);
const lists: ReadonlySet<string> = new Set<keyof PayloadConfig>(["include", "exclude", "excludeClasses"]);
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
  if (selects === undefined) return undefined;
  const name = Object.keys(selects).find((one) => !names.has(one));
  const list = (selects.payload ?? []).flatMap((part) => Object.keys(part)).find((one) => !lists.has(one));
  return name ?? unsupportedMatcher(selects.matchers ?? []) ?? (list && `${list} of the payload`);
}

function unsupportedMatcher(matchers: readonly EventMatcherConfig[]): string | undefined {
  for (const { pointer, op, type = "String" } of matchers) {
    if (!Object.hasOwn(operators, op)) return `the operator ${op} of the matcher of ${pointer}`;
    if (!Object.hasOwn(types, type)) return `the type ${type} of the matcher of ${pointer}`;
  }
  return undefined;
}
