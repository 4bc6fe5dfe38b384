import { describe, expect, test } from "vitest";
import { parsePolicy, PolicyError } from "../../../operator/policy/parse-policy.ts";

describe("a policy", () => {
  test("grants what it lists and nothing else", () => {
    const text =
      "grants:\n  - namespaces: [shop]\n    tenants: [lumen, '-']\n    cidrs: [10.0.0.0/8]\n    plaintext: true\n";
    expect(parsePolicy(text)).toEqual({
      grants: [
        {
          namespaces: ["shop"],
          tenants: ["lumen", "-"],
          producers: [],
          storeHosts: [],
          awsRoles: [],
          metrics: ["*"],
          eventTypes: ["*"],
          clients: [],
          cidrs: ["10.0.0.0/8"],
          plaintext: true,
        },
      ],
    });
  });

  test("that lists metrics grants no others, and without the list every one, as before there was one", () => {
    const [listed, none, absent] = parsePolicy(
      "grants: [{namespaces: [a], metrics: [shop_*]}, {namespaces: [b], metrics: []}, {namespaces: [c]}]",
    ).grants;
    expect([listed?.metrics, none?.metrics, absent?.metrics]).toEqual([["shop_*"], [], ["*"]]);
  });

  test("that lists event types grants no others, and without the list every one, as before there was one", () => {
    const [listed, none, absent] = parsePolicy(
      "grants: [{namespaces: [a], eventTypes: [payout.*]}, {namespaces: [b], eventTypes: []}, {namespaces: [c]}]",
    ).grants;
    expect([listed?.eventTypes, none?.eventTypes, absent?.eventTypes]).toEqual([["payout.*"], [], ["*"]]);
  });

  test("may be JSON, and may grant nothing", () => {
    expect(parsePolicy('{"grants":[]}')).toEqual({ grants: [] });
  });

  test.each([
    ["is empty", "", "the policy: must be object"],
    ["is no YAML", "grants: [", "Flow sequence in block collection must be sufficiently indented and end with a ]"],
    ["repeats a field", "grants: []\ngrants: []", "Map keys must be unique"],
    ["has no grants", "{}", "grants: is required"],
    ["has an unknown field", "grants: []\nrules: []", "rules: is not a known field"],
    ["has a grant for nobody", "grants: [{tenants: [a]}]", "grants[0].namespaces: is required"],
    [
      "has a grant for an empty list",
      "grants: [{namespaces: []}]",
      "grants[0].namespaces: must NOT have fewer than 1 items",
    ],
    ["has a misspelt list", "grants: [{namespaces: [a], tenant: [b]}]", "grants[0].tenant: is not a known field"],
    ["has a text for a list", "grants: [{namespaces: a}]", "grants[0].namespaces: must be array"],
    [
      "has a block that is none",
      "grants: [{namespaces: [a], cidrs: [10.0.0.0]}]",
      "grants[0].cidrs[0]: 10.0.0.0 is not a CIDR block",
    ],
  ])("that %s is refused", (_what, text, message) => {
    expect(() => parsePolicy(text)).toThrow(PolicyError);
    expect(() => parsePolicy(text)).toThrow(message);
  });

  test("that makes much of a little is refused", () => {
    const bomb = [
      "a: &a [x,x,x,x,x,x,x,x,x,x]",
      ...["b", "c", "d"].map((name, at) => `${name}: &${name} [${Array(10).fill(`*${"abc"[at]}`).join(",")}]`),
    ].join("\n");
    expect(() => parsePolicy(bomb)).toThrow(PolicyError);
  });

  test("names five faults at most", () => {
    const text = `grants: [${Array.from({ length: 9 }, () => "{namespaces: [a], cidrs: [x]}").join(",")}]`;
    expect(() => parsePolicy(text)).toThrow(/and 4 more$/u);
  });
});
