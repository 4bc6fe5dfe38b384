import { describe, expect, test } from "vitest";
import {
  canBeId,
  itemOfPage,
  metricItem,
  searchItems,
  withRecent,
  type SearchItem,
} from "../../console/search/search-items.ts";

const partner = (name: string): SearchItem => ({ kind: "Partner", name, to: `/partners/${name}` });
const items = [
  partner("shop/acme"),
  partner("shop/acme-eu"),
  partner("acme/billing"),
  partner("shop/megacme"),
  metricItem("checkout_success_ratio"),
  metricItem("queue_consumer_lag"),
];
const names = (text: string) => searchItems(items, text).map(({ name }) => name);

describe("searchItems", () => {
  test.each([
    ["acme", ["acme/billing", "shop/acme", "shop/acme-eu", "shop/megacme"]],
    ["shop/acme", ["shop/acme", "shop/acme-eu"]],
    ["ACME eu", ["shop/acme-eu"]],
    ["lag", ["queue_consumer_lag"]],
    ["ratio checkout", ["checkout_success_ratio"]],
    ["nothing", []],
    ["  ", []],
  ])("%s", (text, expected) => {
    expect(names(text)).toEqual(expected);
  });

  test("returns at most 12 items, also of many", () => {
    const many = Array.from({ length: 5_000 }, (_, place) => partner(`shop/partner-${place}`));
    expect(searchItems(many, "partner")).toHaveLength(12);
    expect(searchItems(many, "shop/partner-4321").map(({ name }) => name)).toEqual(["shop/partner-4321"]);
  });
});

test.each([
  ["evt-1", true],
  ["ab", false],
  ["two words", false],
  ["x".repeat(129), false],
])("%s can be an id: %s", (text, expected) => {
  expect(canBeId(text)).toBe(expected);
});

describe("recent items", () => {
  test.each([
    ["/events/a%2Fb", "", { kind: "Event", name: "a/b", to: "/events/a%2Fb" }],
    ["/partners/shop/acme", "", { kind: "Partner", name: "shop/acme", to: "/partners/shop/acme" }],
    ["/types/payout.done", "", { kind: "Event type", name: "payout.done", to: "/types/payout.done" }],
    ["/slos/checkout", "", { kind: "Objective", name: "checkout", to: "/slos/checkout" }],
    ["/explorer", "metric=queue_lag&agg=max", { kind: "Metric", name: "queue_lag", to: "/explorer?metric=queue_lag" }],
    ["/explorer", "", undefined],
    ["/events", "", undefined],
    ["/events/%E0%A4%A", "", undefined],
  ])("of %s?%s", (path, query, expected) => {
    expect(itemOfPage(path, new URLSearchParams(query))).toEqual(expected);
  });

  test("are the last eight, each once", () => {
    const opened = "abcdefghia".split("").map((name) => partner(`shop/${name}`));
    const recent = opened.reduce<readonly SearchItem[]>(withRecent, []);
    expect(recent.map(({ name }) => name.slice(5)).join("")).toBe("aihgfedc");
  });
});
