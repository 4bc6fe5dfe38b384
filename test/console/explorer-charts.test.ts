import { describe, expect, test } from "vitest";
import { choicesOf } from "../../console/api/choices.ts";
import { axisLabels } from "../../console/charts/chart-data.ts";
import { statsOf, toggleSeries } from "../../console/charts/legend-table.tsx";
import { explorerQuery, refreshSecondsOf } from "../../console/explorer/explorer-query.ts";
import { usageByMetric } from "../../console/explorer/metric-usage.ts";
import { axisUnit, formatOfUnit } from "../../console/explorer/shown-series.ts";
import { moveWindow, narrowWindow, widenWindow, windowChange, windowOf } from "../../console/explorer/time-window.ts";
import type { Me } from "../../api/documents.ts";

const minuteMs = 60_000;
const nowMs = Date.parse("2026-01-31T12:00:00.000Z");

describe("figures of a series", () => {
  test("leave gaps out: the mean is over points", () => {
    const points = [
      [1, 2],
      [2, null],
      [3, -1],
      [4, 5],
      [5, null],
    ] as const;
    expect(statsOf({ points })).toEqual({ min: -1, max: 5, mean: 2, last: 5 });
  });

  test("are unknown without values, never zero", () => {
    expect(statsOf({ points: [[1, null]] })).toBeUndefined();
    expect(statsOf({ points: [] })).toBeUndefined();
  });
});

describe("a click on a series in the legend", () => {
  const all = ["a", "b", "c"];
  test.each([
    ["hides it", [], "a", false, ["a"]],
    ["shows it again", ["a", "b"], "a", false, ["b"]],
    ["with shift shows it alone", [], "b", true, ["a", "c"]],
    ["with shift shows a hidden one alone", ["b"], "b", true, ["a", "c"]],
    ["with shift on the only one shows all", ["a", "c"], "b", true, []],
  ])("%s", (_name, hidden, label, only, expected) => {
    expect([...toggleSeries(new Set(hidden), { label, all, only })].sort()).toEqual(expected);
  });
});

describe("a window of the explorer", () => {
  const shown = { fromMs: nowMs - 20 * minuteMs, toMs: nowMs - 10 * minuteMs };

  test.each([
    ["earlier", moveWindow(shown, -1, nowMs), [-30, -20]],
    ["narrower", narrowWindow(shown), [-17.5, -12.5]],
    ["later", moveWindow(shown, 1, nowMs), [-10, 0]],
    ["later, but not after now", moveWindow({ ...shown, toMs: nowMs - 5 * minuteMs }, 1, nowMs), [-15, 0]],
    ["wider", widenWindow(shown, nowMs), [-25, -5]],
    ["wider, but not after now", widenWindow({ fromMs: nowMs - 10 * minuteMs, toMs: nowMs }, nowMs), [-20, 0]],
  ])("%s", (_name, { fromMs, toMs }, minutes) => {
    expect([fromMs, toMs].map((ms) => (ms - nowMs) / minuteMs)).toEqual(minutes);
  });

  test("is the address of the same range, a short one widened to a minute", () => {
    expect(windowChange(shown)).toEqual({
      from: "2026-01-31T11:40:00.000Z",
      to: "2026-01-31T11:50:00.000Z",
      range: null,
      page: null,
    });
    expect(windowChange({ fromMs: nowMs - 10_000, toMs: nowMs })).toMatchObject({
      from: "2026-01-31T11:59:25.000Z",
      to: "2026-01-31T12:00:25.000Z",
    });
  });

  test("of texts that are no times, or in the wrong order, is none", () => {
    expect(windowOf({ from: "", to: "soon" })).toBeUndefined();
    expect(windowOf({ from: "2026-01-31T12:00:00Z", to: "2026-01-31T11:00:00Z" })).toBeUndefined();
    expect(windowOf({ from: "2026-01-31T11:00:00Z", to: "2026-01-31T12:00:00Z" })?.toMs).toBe(nowMs);
  });
});

test.each([
  ["refresh=30s", 30],
  ["refresh=1m", 60],
  ["refresh=1s", undefined],
  ["refresh=", undefined],
  ["refresh=30s&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", undefined],
])("an address with %s refreshes every %s seconds", (address, seconds) => {
  expect(refreshSecondsOf(explorerQuery(new URLSearchParams(address)))).toBe(seconds);
});

test("a query runs unless its address requests a dry run", () => {
  expect([`run=1`, ``, `run=0`].map((text) => explorerQuery(new URLSearchParams(text)).runs)).toEqual([
    true,
    true,
    false,
  ]);
});

test.each([
  ["of the token", { tenants: ["b", "a"], choices: { tenants: ["z"], regions: [], environments: [] } }, ["b", "a"]],
  ["of the configuration", { tenants: ["*"], choices: { tenants: ["z"], regions: [], environments: [] } }, ["z"]],
  ["unknown without any", { tenants: ["*"], choices: { tenants: [], regions: [], environments: [] } }, undefined],
  ["unknown with an earlier server", { tenants: ["*"] }, undefined],
])("tenants to choose from are %s", (_name, me, expected) => {
  expect(choicesOf(me as unknown as Me, "tenant")).toEqual(expected);
});

test("the axis names a unit that its labels lack", () => {
  expect(["ratio", "ms", "s", "messages"].map(axisUnit)).toEqual([undefined, undefined, undefined, "messages"]);
});

test("no two neighbouring labels of an axis read the same", () => {
  const whole = (value: number): string => String(Math.round(value));
  expect(axisLabels([0, 0.2, 0.4, 0.6, 0.8, 1], whole)).toEqual(["0", "", "", "1", "", ""]);
  expect(axisLabels([60_000, 60_200, 61_000], formatOfUnit("ms"))).toEqual(["1 min", "", "1 min 1 s"]);
  expect(axisLabels([1, 2], whole)).toEqual(["1", "2"]);
});

test("usage is found by its metric, and rows of other metrics together have none", () => {
  const usage = usageByMetric({
    data: [
      { metric: "a", cost: 7, requests: 2, cache_share: 0.5 },
      { metric: null, cost: 9, requests: 1, cache_share: null },
    ],
    meta: { clients: "own", complete: false },
  });
  expect([...usage.byMetric]).toEqual([["a", { cost: 7, requests: 2, cache_share: 0.5 }]]);
  expect(usage).toMatchObject({ isOwn: true, isComplete: false });
});
