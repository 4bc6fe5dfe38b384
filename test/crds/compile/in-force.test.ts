import { expect, test } from "vitest";
import { createCompiler } from "../../../crds/compile/compile.ts";
import { uidOf } from "../../../crds/compile/origin.ts";
import { partsOf, type ConfigPart } from "../../../crds/part.ts";
import { allowAll } from "../../../crds/policy.ts";
import type { Resource } from "../../../crds/resource.ts";
import { plainObject } from "../valid-objects.ts";
import { keyOf, resourceOf } from "./resources.ts";

const secrets = new Map([["default/partner", { hmac: keyOf(1), old: keyOf(2) }]]);

/** Compiles the objects of a folder, which have no age, after what was in force. */
function folder() {
  const compile = createCompiler();
  let parts: ReadonlyMap<string, ConfigPart> = new Map();
  return (...resources: readonly Resource[]) => {
    const before = { partOf: (one: Resource) => parts.get(uidOf(one)), nowMs: 0, lastGoodMs: 1, mayForget: true };
    const { config, results } = compile({ resources, secrets, policy: allowAll, before });
    parts = partsOf(config);
    return results.map(({ name, accepted }) => [name, accepted.reason] as const);
  };
}

function catalog(name: string, ...types: readonly string[]) {
  const [first] = (plainObject("EventCatalog").spec as { readonly types: readonly object[] }).types;
  return resourceOf("EventCatalog", { types: types.map((type) => ({ ...first, type })) }, { name });
}

test.each([
  ["an event type", (name: string) => catalog(name, "payout.a"), "Conflicted"],
  ["a metric", (name: string) => resourceOf("MetricCatalog", {}, { name }), "Conflicted"],
  ["a client", (name: string) => resourceOf("QueryClassQuota", {}, { name }), "Conflicted"],
  ["a signing key", (name: string) => resourceOf("WebhookPartner", {}, { name }), "SharedSigningKey"],
] as const)("%s stays with the object in force, not with the first name", (_, object, reason) => {
  const apply = folder();
  const [early, late] = [object("a"), object("b")];
  expect(apply(late).map(([name]) => name)).toEqual(["b"]);
  for (const _time of [1, 2])
    expect(apply(early, late)).toEqual([
      ["a", reason],
      ["b", "Accepted"],
    ]);
  // It gets the value once the other one no longer has it.
  expect(apply(early)).toEqual([["a", "Accepted"]]);
  expect(apply(early, late)).toEqual([
    ["a", "Accepted"],
    ["b", reason],
  ]);
});

test("an edit takes no type from the catalog in force, and of two new claims the first name wins", () => {
  const apply = folder();
  apply(catalog("a", "payout.a"), catalog("b", "payout.b"));
  expect(apply(catalog("a", "payout.a", "payout.b"), catalog("b", "payout.b"))).toEqual([
    ["a", "Conflicted"],
    ["b", "Accepted"],
  ]);
  expect(apply(catalog("a", "payout.a", "payout.c"), catalog("b", "payout.b", "payout.c"))).toEqual([
    ["a", "Accepted"],
    ["b", "Conflicted"],
  ]);
});

test("an object in force that loses all its keys frees them in the same compilation", () => {
  const apply = folder();
  const quota = (name: string, ...ids: readonly string[]) =>
    resourceOf("QueryClassQuota", { clients: ids.map((clientId) => ({ clientId })) }, { name });
  apply(quota("b", "one"), quota("c", "two"));
  expect(apply(quota("a", "one"), quota("b", "one", "two"), quota("c", "two"))).toEqual([
    ["a", "Accepted"],
    ["b", "Conflicted"],
    ["c", "Accepted"],
  ]);
});
