import { describe, expect, test } from "vitest";
import type { EventMatcherConfig } from "../../../../crds/config.ts";
import { compileMatchers, createEventValues, treeOf } from "../../../../runtime/webhooks/events/compile-matchers.ts";

const event = String.raw`{"event_id":"e-1","type":"payout.processed","version":"2026-01-01","producer":"payments",
  "data":{"id":9007199254740993,"text":"1","one":1.0,"none":null,"yes":true,"list":[1,{"k":"v"}],"empty":"",
  "state":"\u0070aid","a/b":{"m~n":"x"},"amount":-0.50,"object":{}}}`;

function matches(...matchers: readonly EventMatcherConfig[]): boolean {
  return compileMatchers(matchers)(createEventValues(Buffer.from(event), treeOf(matchers)));
}

type Case = readonly [says: string, matcher: EventMatcherConfig, expected: boolean];
const at = (pointer: string, op: EventMatcherConfig["op"], more: Partial<EventMatcherConfig> = {}) => ({
  pointer,
  op,
  ...more,
});

describe("a matcher", () => {
  test.each<Case>([
    ["Equal takes the same string", at("/data/text", "Equal", { value: "1" }), true],
    ["Equal takes an escaped string", at("/data/state", "Equal", { value: "paid" }), true],
    ["Equal takes the empty string", at("/data/empty", "Equal", { value: "" }), true],
    ["Equal takes no other case", at("/data/state", "Equal", { value: "Paid" }), false],
    ["Equal takes no number for a string", at("/data/one", "Equal", { value: "1" }), false],
    ["Equal takes no string for a number", at("/data/text", "Equal", { type: "Number", value: "1" }), false],
    ["Equal takes the same number", at("/data/one", "Equal", { type: "Number", value: "1" }), true],
    ["Equal keeps all digits", at("/data/id", "Equal", { type: "Number", value: "9007199254740993" }), true],
    ["Equal rounds no digits", at("/data/id", "Equal", { type: "Number", value: "9007199254740992" }), false],
    ["Equal takes true", at("/data/yes", "Equal", { type: "Boolean", value: "true" }), true],
    ["Equal takes no true for a string", at("/data/yes", "Equal", { value: "true" }), false],
    ["Equal takes null", at("/data/none", "Equal", { type: "Null", value: "null" }), true],
    ["Equal takes no null for a string", at("/data/none", "Equal", { value: "null" }), false],
    ["Equal takes no missing value for null", at("/data/x", "Equal", { type: "Null", value: "null" }), false],
    ["Equal takes no missing value for an empty string", at("/data/x", "Equal", { value: "" }), false],
    ["Equal takes no list", at("/data/list", "Equal", { value: "" }), false],
    ["Equal takes no object", at("/data/object", "Equal", { value: "" }), false],
    ["Equal takes an element of a list", at("/data/list/1/k", "Equal", { value: "v" }), true],
    ["Equal finds names with slashes and tildes", at("/data/a~1b/m~0n", "Equal", { value: "x" }), true],
    ["Equal takes fields of the envelope", at("/producer", "Equal", { value: "payments" }), true],
    ["Equal takes no missing field of the envelope", at("/tenant", "Equal", { value: "-" }), false],
    ["NotEqual takes another string", at("/data/text", "NotEqual", { value: "2" }), true],
    ["NotEqual does not take the same string", at("/data/text", "NotEqual", { value: "1" }), false],
    ["NotEqual takes another type", at("/data/one", "NotEqual", { value: "1" }), true],
    ["NotEqual takes null", at("/data/none", "NotEqual", { value: "1" }), true],
    ["NotEqual takes a missing value", at("/data/x", "NotEqual", { value: "1" }), true],
    ["NotEqual takes no equal number", at("/data/one", "NotEqual", { type: "Number", value: "10e-1" }), false],
    ["In takes one of several", at("/data/state", "In", { values: ["open", "paid"] }), true],
    ["In takes none of others", at("/data/state", "In", { values: ["open"] }), false],
    ["In takes an equal number", at("/data/amount", "In", { type: "Number", values: ["1", "-0.5"] }), true],
    ["In takes no missing value", at("/data/x", "In", { values: [""] }), false],
    ["NotIn takes none of several", at("/data/state", "NotIn", { values: ["paid", "open"] }), false],
    ["NotIn takes others", at("/data/state", "NotIn", { values: ["open"] }), true],
    ["NotIn takes a missing value", at("/data/x", "NotIn", { values: ["open"] }), true],
    ["Exists takes null", at("/data/none", "Exists"), true],
    ["Exists takes an object", at("/data", "Exists"), true],
    ["Exists takes no missing value", at("/data/x", "Exists"), false],
    ["Exists takes no element after the last", at("/data/list/-", "Exists"), false],
    ["NotExists takes a missing value", at("/data/list/2", "NotExists"), true],
    ["NotExists does not take null", at("/data/none", "NotExists"), false],
    ["GreaterThan compares all digits", at("/data/id", "GreaterThan", { value: "9007199254740992" }), true],
    ["GreaterThan takes no equal number", at("/data/id", "GreaterThan", { value: "9007199254740993" }), false],
    ["GreaterThan takes no string", at("/data/text", "GreaterThan", { value: "0" }), false],
    ["GreaterThan takes no missing value", at("/data/x", "GreaterThan", { value: "-1" }), false],
    ["GreaterThan takes no null", at("/data/none", "GreaterThan", { value: "-1" }), false],
    ["LessThan takes a smaller number", at("/data/amount", "LessThan", { value: "-0.4" }), true],
    ["LessThan takes no equal number", at("/data/amount", "LessThan", { value: "-0.5" }), false],
    ["LessThan takes no missing value", at("/data/x", "LessThan", { value: "1" }), false],
    ["Prefix takes the beginning of a string", at("/type", "Prefix", { value: "payout." }), true],
    ["Prefix takes no middle of a string", at("/type", "Prefix", { value: "out." }), false],
    ["Prefix takes no number", at("/data/one", "Prefix", { value: "1" }), false],
    ["Prefix takes no missing value", at("/data/x", "Prefix", { value: "" }), false],
  ])("%s", (_, matcher, expected) => {
    expect(matches(matcher)).toBe(expected);
  });

  test("is one of several that must all match", () => {
    const paid = at("/data/state", "Equal", { value: "paid" });
    expect(matches(paid, at("/data/text", "Exists"))).toBe(true);
    expect(matches(paid, at("/data/x", "Exists"))).toBe(false);
  });
});

test("an event without data has no values below it", () => {
  const matchers = [at("/data/a", "NotExists")];
  expect(compileMatchers(matchers)(createEventValues(Buffer.from('{"event_id":"e"}'), treeOf(matchers)))).toBe(true);
});
