import type { Slo, SloHistoryAnswer } from "../../api/objectives.ts";
import { describe, expect, test } from "vitest";
import { burnReasons, spentIn } from "../../console/objectives/objective-detail.tsx";
import { narrowed } from "../../console/pages/slos-page.tsx";
import {
  badEventsText,
  budgetLeft,
  budgetTone,
  burnDown,
  burnOnset,
  explorerPath,
  objectivePath,
  objectiveWindow,
  pointsText,
  worstFirst,
} from "../../console/objectives/objective-view.ts";
import { quotaRows, quotaTone } from "../../console/pages/quotas-page.tsx";

describe("the budget of an objective", () => {
  test.each([
    ["untouched", { total: 0.01, remaining: 0.01 }, 1, "good"],
    ["nearly used up", { total: 0.01, remaining: 0.002 }, 0.2, "warn"],
    ["overspent", { total: 0.01, remaining: -0.01 }, -1, "bad"],
    ["unknown", { total: 0.01 }, undefined, "quiet"],
  ])("that is %s", (_title, budget, left, tone) => {
    expect(budgetLeft({ error_budget: budget })).toBe(left);
    expect(budgetTone(left)).toBe(tone);
  });

  test("burns down with gaps where nothing was counted", () => {
    const meta = {
      correlation_id: "c",
      schema_version: "v",
      name: "a",
      domain: "pay",
      metric: "m",
      tenant: "lumen",
      window_days: 30,
      objective: 0.75,
      step_seconds: 60,
      regions: [],
      partial: false,
    };
    const data = [
      { at: "2026-01-31T12:00:00.000Z", sli: 1, remaining: 0.25 },
      { at: "2026-01-31T12:01:00.000Z", sli: null, remaining: null },
      { at: "2026-01-31T12:02:00.000Z", sli: 0.5, remaining: -0.25 },
    ];
    expect(burnDown({ data, meta })[0]?.points.map(([, value]) => value)).toEqual([1, null, -1]);
  });

  test("is on a page that names the view", () => {
    const objective = {
      name: "a/b",
      domain: "pay",
      tenant: "lumen",
      regions: [{ region: "eu" }],
    } as unknown as Slo;
    expect(objectivePath(objective, new URLSearchParams("environment=prod&cursor=x"))).toBe(
      "/slos/a%2Fb?domain=pay&region=eu&tenant=lumen&environment=prod",
    );
  });
});

const tier = (
  factor: number,
  long: readonly [string, number?],
  short: readonly [string, number?],
): Slo["tiers"][number] => {
  const rate = ([window, value]: readonly [string, number?]) => ({
    window,
    ...(value === undefined ? {} : { rate: value }),
  });
  return { severity: "page", factor, long: rate(long), short: rate(short) };
};
const slo = (change: Partial<Slo>): Slo => ({
  name: "login",
  domain: "identity",
  metric: "auth",
  objective: 0.99,
  window_days: 30,
  minimum_events: 100,
  at: "2026-01-31T12:00:00.000Z",
  tenant: "lumen",
  regions: [
    { region: "eu", state: "ok" },
    { region: "latam", state: "ok" },
  ],
  events: { good: 990, total: 1_000 },
  error_budget: { total: 0.01, spent: 0.004, remaining: 0.006 },
  burn: {},
  tiers: [tier(14.4, ["1h", 1], ["5m", 1]), tier(6, ["6h", 1], ["30m", 1])],
  status: "ok",
  ...change,
});

const calendar = {
  period: "Month",
  time_zone: "Europe/Berlin",
  from: "2025-12-31T23:00:00.000Z",
  to: "2026-01-31T23:00:00.000Z",
} as const;

test("a calendar window is named by its period and zone", () => {
  expect([{}, { calendar }].map((change) => objectiveWindow(slo(change)))).toEqual([
    "30 d",
    "calendar month (Europe/Berlin)",
  ]);
  const meta = { window_days: 30 } as SloHistoryAnswer["meta"];
  expect([meta, { ...meta, calendar }].map((own) => pointsText({ meta: own }))).toEqual([
    "each over the 30 days before it",
    "each since its calendar month (Europe/Berlin) began",
  ]);
  const fast = { window: "1h", rate: 0.1 };
  expect(spentIn(slo({ calendar, burn: { fast } }))).toBe("not before the month ends, at the rate of the last 1 h");
});

test("bad slices of a calendar window are next to those that the whole period permits", () => {
  const over = { slices_to_come: 474 } as Slo["over"];
  const events = { good: 232, total: 234 };
  expect(badEventsText({ events, ...(over && { over }), error_budget: { total: 0.01 } })).toBe("2 of 7.1 permitted");
});

describe("the reasons of a state", () => {
  test.each([
    ["of nothing", {}, []],
    [
      "of a spent budget",
      { status: "critical", error_budget: { total: 0.01, spent: 0.015, remaining: -0.005 } },
      ["The error budget is spent: 1.5% of the events in 30 d were bad, and 1% may be (150% of the budget)."],
    ],
    [
      "of a spent budget of a calendar month",
      { status: "critical", calendar, error_budget: { total: 0.01, spent: 0.015, remaining: -0.005 } },
      ["The error budget is spent: 1.5% of the events in this month were bad, and 1% may be (150% of the budget)."],
    ],
    [
      "of the fastest tier that burns, with the time until the budget is spent",
      {
        status: "critical",
        burn: { fast: { window: "1h", rate: 20 } },
        exhaustion_seconds: 64_800,
        tiers: [tier(14.4, ["1h", 20], ["5m", 2]), tier(6, ["6h", 7], ["30m", 12])],
      },
      [
        "The budget burns at 7 times the sustainable rate in the last 6 h, and 12 times in the last 30 min (alert above 6). " +
          "At the rate of the last 1 h the budget is spent in 18 h.",
      ],
    ],
    [
      "of too few events",
      { status: "insufficient_data", events: { good: 3, total: 3 } },
      ["3 events were counted, and a state needs 100."],
    ],
    [
      "of missing stores",
      { status: "late", events: { good: 3, total: 3 }, regions: [{ region: "eu", state: "late" }] },
      ["3 events were counted, and a state needs 100. Stores did not respond in time. Incomplete: eu (late)."],
    ],
  ] as const)("%s", (_name, change, reasons) => {
    expect(burnReasons(slo(change as Partial<Slo>))).toEqual(reasons);
  });
});

test.each([
  ["spent", { exhaustion_seconds: 0 }, "spent"],
  [
    "burning",
    { exhaustion_seconds: 90_000, burn: { fast: { window: "1h", rate: 12 } } },
    "1 d 1 h at the rate of the last 1 h",
  ],
  ["burning slowly", { burn: { fast: { window: "1h", rate: 0.1 } } }, "not within 30 d at the rate of the last 1 h"],
  ["without events", {}, "unknown"],
])("a budget says when it is spent: %s", (_name, change, text) => {
  expect(spentIn(slo(change))).toBe(text);
});

test.each([
  ["few events, of which none may be bad", { good: 135, total: 135 }, 0.005, "0 of 0.7 permitted"],
  ["many events", { good: 99_000, total: 100_000 }, 0.02, "1,000 of 2,000 permitted"],
  ["no events", undefined, 0.02, "none"],
])("bad events are next to those that the budget permits: %s", (_name, events, total, text) => {
  expect(badEventsText({ ...(events === undefined ? {} : { events }), error_budget: { total } })).toBe(text);
});

describe("a list of objectives", () => {
  const at = (name: string, status: Slo["status"], remaining: number): Slo =>
    slo({ name, status, error_budget: { total: 0.01, remaining } });

  test("has the worst first: by state, then by the budget that is left", () => {
    const all = [
      at("a", "ok", 0.001),
      at("b", "critical", 0.005),
      at("c", "insufficient_data", 0),
      at("d", "critical", -1),
    ];
    expect(worstFirst(all).map(({ name }) => name)).toEqual(["d", "b", "c", "a"]);
  });

  test("has those of the domain and the state of the address", () => {
    const all = [slo({ name: "a" }), slo({ name: "b", status: "critical" }), slo({ name: "c", domain: "pay" })];
    const names = (query: string) => narrowed(all, new URLSearchParams(query)).map(({ name }) => name);
    expect(names("")).toEqual(["a", "b", "c"]);
    expect(names("status=ok&domain=identity")).toEqual(["a"]);
    expect(names("domain=none")).toEqual([]);
  });
});

describe("a budget began to burn", () => {
  // Points every 8 hours of a window of 30 days: a burn rate of 1 spends 1/90 of the budget from point to point.
  const meta = { objective: 0.999, window_days: 30 } as SloHistoryAnswer["meta"];
  const startMs = Date.parse("2026-01-01T00:00:00.000Z");
  const at = (index: number): string => new Date(startMs + index * 28_800_000).toISOString();
  const history = (...left: readonly (number | null)[]) => ({
    data: left.map((share, index) => ({
      at: at(index),
      sli: null,
      remaining: share === null ? null : share * 0.001,
    })),
    meta,
  });

  test.each([
    ["between the last slow fall and the first fast one", [0.90005, 0.90003, 0.90001, -1.98], [2, 3]],
    ["before later fast falls", [0.9, 0.9, 0.5, 0.1, -0.3], [1, 2]],
    ["after a pause", [0.9, 0.5, 0.499, 0.1], [2, 3]],
    ["over gaps", [0.9, 0.89, null, 0.3], [1, 3]],
    ["at no time, with a burn rate of less than 1", [0.9, 0.89, 0.88], undefined],
    ["at no time, when it rises", [0.9, 0.2, 0.4], undefined],
    ["at no time, when it stays", [0.9, 0.2, 0.2], undefined],
    ["at no time, without events", [null, null], undefined],
  ])("%s", (_name, left, points) => {
    const [from, to] = points ?? [];
    const onset = from === undefined || to === undefined ? undefined : { from: at(from), to: at(to) };
    expect(burnOnset(history(...left))).toEqual(onset);
  });
});

test("the metric of an objective opens in the Explorer by region, or in its only region", () => {
  expect(explorerPath(slo({}), "3d")).toBe("/explorer?metric=auth&filter%5Btenant%5D=lumen&group_by=region&range=3d");
  expect(explorerPath(slo({ regions: [{ region: "eu", state: "ok" }] }), "1h")).toBe(
    "/explorer?metric=auth&filter%5Btenant%5D=lumen&filter%5Bregion%5D=eu&range=1h",
  );
});

test("quotas are rows, those of metrics last", () => {
  const rows = quotaRows({
    class: "A",
    client: "c",
    requests: { limit_per_second: 2, burst: 10, remaining: 3 },
    cost: { limit_per_minute: 60, burst: 100, remaining: 100 },
    concurrent: { limit: 4, used: 5 },
    max_series: 50,
    max_window_seconds: 60,
    min_step_seconds: 10,
    known_by: "home_pod",
    metrics: [{ metric: "m", requests: null, cost: { limit_per_minute: 60, burst: 100, remaining: 0 } }],
  });
  expect(rows.map(({ name, left, most }) => [name, left, most])).toEqual([
    ["Requests", 3, 10],
    ["Cost units", 100, 100],
    ["Concurrent requests", 0, 4],
    ["Cost units of m", 0, 100],
  ]);
  expect(rows.map(quotaTone)).toEqual(["good", "good", "bad", "bad"]);
});
