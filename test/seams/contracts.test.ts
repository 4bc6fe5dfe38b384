import { expect, test } from "vitest";
import { CatalogTimeline } from "./catalog-timeline.ts";
import { factsOf, startCatalogs, type CatalogSlot } from "./catalog-walk.ts";
import { fields, meets, sentText, resultOf, type CatalogFacts, type Payload, type IngestResult } from "./contracts.ts";

const [payouts] = startCatalogs();
const catalog = (change: (slot: CatalogSlot) => CatalogSlot = (slot) => slot): CatalogFacts => {
  if (payouts === undefined) throw new Error("no catalog");
  return factsOf(change(payouts), { get: () => 100 });
};
const type = "payout.created";
const eventOf = (shape: number) => ({ tenant: "lumen", type, shape });
const withVersion = (change: object) =>
  catalog((slot) => ({
    ...slot,
    types: slot.types.map((one) => ({ ...one, versions: one.versions.map((version) => ({ ...version, ...change })) })),
  }));

test.each<[what: string, result: IngestResult, shape: number, facts: CatalogFacts, atMs: number]>([
  ["a valid event", "accepted", 0, catalog(), 0],
  ["a text instead of a number", "invalid_data", 6, catalog(), 0],
  ["a property that the schema does not have", "accepted", 7, catalog(), 0],
  ["the same once the schema has it as a text", "invalid_data", 7, withVersion({ level: 1 }), 0],
  ["an undeclared version", "accepted", 4, catalog(), 0],
  ["a version before its end", "accepted", 0, withVersion({ state: "Ended" }), 99],
  ["a version after its end", "version_retired", 0, withVersion({ state: "Ended" }), 100],
])("%s is %s", (_what, result, shape, facts, atMs) => {
  expect(resultOf(eventOf(shape), facts, "Warn", atMs)).toBe(result);
});

test("an undeclared version is rejected by the setting", () => {
  expect(resultOf(eventOf(4), catalog(), "Reject", 0)).toBe("undeclared_type");
});

const dataAfter = (...selections: readonly Payload[]): unknown =>
  (JSON.parse(sentText("e", eventOf(0), 0, selections)) as { readonly data: unknown }).data;

test("selections leave what they name", () => {
  const items = [{ sku: "a" }, { sku: "b" }];
  expect(dataAfter({ include: ["/data/note", "/data/items/*/sku"] })).toEqual({ note: "event e", items });
  expect(dataAfter({ exclude: ["/data/items/*/margin", "/data/payee"] })).toEqual({
    note: "event e",
    region: "eu",
    amount: 250,
    items,
  });
  expect(dataAfter({ exclude: ["/data/items/0"] })).toMatchObject({ items: [null, { sku: "b" }] });
});

test("matchers compare without conversion", () => {
  const above = [{ pointer: "/data/amount", op: "GreaterThan", value: "500" }];
  expect([0, 1, 6].map((shape) => meets(above, { shape }))).toEqual([false, true, false]);
});

/** A catalog that is in force since 100 with one field, and changes at 200 to what is in force since 300. */
function changedTo(facts: CatalogFacts | undefined): CatalogTimeline {
  const timeline = new CatalogTimeline("pay/payouts");
  const object = { uid: "u", generation: 1 };
  timeline.began(0, catalog()).applied(object);
  timeline.observed(100, { ...object, facts: catalog() });
  const next = { uid: "u", generation: 2 };
  timeline.began(200, facts).applied(next);
  timeline.observed(300, facts === undefined ? undefined : { ...next, facts });
  return timeline;
}

const unmarked = catalog((slot) => ({ ...slot, types: slot.types.map((one) => ({ ...one, marks: [false, false] })) }));
const dropped = catalog((slot) => ({
  ...slot,
  types: slot.types.map((one) => ({ ...one, isDeclared: one.type !== type })),
}));

test.each<[what: string, facts: CatalogFacts | undefined, excludes: boolean, expected: readonly unknown[]]>([
  ["its author releases it", unmarked, true, [true, "open", false]],
  ["its type is dropped while a partner excludes it", dropped, true, [true, true, true]],
  ["the catalog is deleted while a partner excludes it", undefined, true, [true, true, true]],
  ["the catalog is deleted and no partner is known to exclude it", undefined, false, [true, "open", "open"]],
])("a classified field stays so until %s", (_what, facts, excludes, expected) => {
  const timeline = changedTo(facts);
  const [, field] = fields;
  const at = (fromMs: number, toMs: number): boolean | "open" =>
    timeline.isClassified({ type, field, fromMs, toMs }, () => excludes);
  expect([at(110, 190), at(190, 250), at(300, 400)]).toEqual(expected);
});

test("a generation that must be rejected is a problem once it is published", () => {
  const timeline = changedTo(unmarked);
  timeline.rejects({ uid: "u", generation: 3 }, "type");
  timeline.observed(400, { uid: "u", generation: 2, facts: unmarked });
  expect(timeline.problems).toEqual([]);
  timeline.observed(500, { uid: "u", generation: 3, facts: unmarked });
  expect(timeline.problems).toHaveLength(1);
});
