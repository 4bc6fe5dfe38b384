import { rowsOf, type RuleRow } from "./rows.ts";

const payloadLists = "a payload has include or exclude, or excludeClasses with or without one of them";
const matcher = "spec.subscriptions[0].matchers[0]";
const needsValue =
  "value is required for Equal, NotEqual, GreaterThan, LessThan and Prefix, and not allowed for other operators";
const onlyTypes =
  "GreaterThan and LessThan compare numbers, Prefix compares strings, and Exists and NotExists have no type";

/** Subscriptions that a rule rejects. */
export const subscriptionRuleRows: readonly RuleRow[] = rowsOf<RuleRow>("WebhookPartner", [
  {
    says: "compares with a missing value",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "Prefix" }] },
    field: matcher,
    message: needsValue,
  },
  {
    says: "compares without an operator and without a value",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a" }] },
    field: matcher,
    message: needsValue,
  },
  {
    says: "has a value that nothing is compared with",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "Exists", value: "a" }] },
    field: matcher,
    message: needsValue,
  },
  {
    says: "looks for no value among several",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "In" }] },
    field: matcher,
    message: "values is required for In and NotIn, and not allowed for other operators",
  },
  {
    says: "compares with several values",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "Equal", value: "a", values: ["a"] }] },
    field: matcher,
    message: "values is required for In and NotIn, and not allowed for other operators",
  },
  {
    says: "orders strings",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "GreaterThan", type: "String", value: "a" }] },
    field: `${matcher}.type`,
    message: onlyTypes,
  },
  {
    says: "takes the prefix of a number",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "Prefix", type: "Number", value: "1" }] },
    field: `${matcher}.type`,
    message: onlyTypes,
  },
  {
    says: "gives existence a type",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "NotExists", type: "Null" }] },
    field: `${matcher}.type`,
    message: onlyTypes,
  },
  ...["a", "", "01", "+1", "1.", ".5", "0x1", "1e1000", " 1", "Infinity"].map((value) => ({
    says: `compares with "${value}" for a number`,
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "LessThan", value }] },
    field: `${matcher}.value`,
    message: "the value must be a JSON number",
  })),
  {
    says: "looks for a string among numbers",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "In", type: "Number", values: ["1", "one"] }] },
    field: `${matcher}.values`,
    message: "each value must be a JSON number",
  },
  {
    says: "compares a boolean with yes",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", type: "Boolean", value: "yes" }] },
    field: matcher,
    message: "values of type Boolean are true or false, and that of type Null is null",
  },
  {
    says: "looks for a boolean among nulls",
    set: { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "NotIn", type: "Null", values: ["null", "true"] }] },
    field: matcher,
    message: "values of type Boolean are true or false, and that of type Null is null",
  },
  {
    says: "matches the attempt",
    set: { "subscriptions[0].matchers": [{ pointer: "/attempt", type: "Number", value: "1" }] },
    field: `${matcher}.pointer`,
    message: "an event has no attempt, which is set when it is sent",
  },
  {
    says: "includes and excludes parts of an event",
    set: { "subscriptions[0].payload": { include: ["/data/a"], exclude: ["/data/b"] } },
    field: "spec.subscriptions[0].payload",
    message: payloadLists,
  },
  {
    says: "selects no part of an event",
    set: { "subscriptions[0].payload": {} },
    field: "spec.subscriptions[0].payload",
    message: payloadLists,
  },
  ...["/event_id", "/ts", "/tenant/a", "/attempt"].map((pointer) => ({
    says: `excludes ${pointer}`,
    set: { "subscriptions[0].payload": { exclude: ["/data/a", pointer] } },
    field: "spec.subscriptions[0].payload.exclude[1]",
    message: "the fields of the envelope are always sent",
  })),
  {
    says: "includes the type",
    set: { "subscriptions[0].payload": { include: ["/type"] } },
    field: "spec.subscriptions[0].payload.include[0]",
    message: "the fields of the envelope are always sent",
  },
]);
