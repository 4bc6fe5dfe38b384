import type { Slo } from "../../api/objectives.ts";
import { describe, expect, test } from "vitest";
import { budgetLeft, budgetTone, burnDown, objectivePath } from "../../console/objectives/objective-view.ts";
import { quotaRows, quotaTone } from "../../console/quotas/quota-buckets.ts";

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
    ["At once", 0, 4],
    ["Cost units of m", 0, 100],
  ]);
  expect(rows.map(quotaTone)).toEqual(["good", "good", "bad", "bad"]);
});
