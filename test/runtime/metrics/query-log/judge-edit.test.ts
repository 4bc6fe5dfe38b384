import { describe, expect, test } from "vitest";
import type { PreviewedQueries } from "../../../../api/previews.ts";
import type { MetricConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { createAdmission } from "../../../../runtime/metrics/admission/admission.ts";
import { rejectSunset } from "../../../../runtime/metrics/planning/catalog-entry.ts";
import { makePlan } from "../../../../runtime/metrics/planning/plan.ts";
import { makeQuery } from "../../../../runtime/metrics/planning/query.ts";
import { createCollection, createEditJudge, shownMax } from "../../../../runtime/metrics/query-log/judge-edit.ts";
import { createQueryRecord } from "../../../../runtime/metrics/query-log/query-record.ts";
import { type Pods, singlePod } from "../../../../runtime/pods/pods.ts";
import { podsOfATest } from "../admission/pods-of-a-test.ts";
import { parameters } from "../oracle/universe.ts";
import { refused } from "../refused.ts";
import { ask, configWith, contextOf, nowMs, type Pairs, reader } from "./recorded-queries.ts";

const everything = { tenants: ["*"], metrics: ["*"] };
const { cost: price } = createAdmission(() => 0, singlePod());

/** A pod with a record, which judges edits. */
function podOf(pods: Pods = singlePod()) {
  const record = createQueryRecord(() => nowMs);
  return { record, judge: createEditJudge({ collect: createCollection(record, pods), price, now: () => nowMs }) };
}

const lag: Pairs = [
  ["metric", "lag"],
  ["from", "2026-01-01T06:00:00Z"],
  ["step", "1m"],
];

async function effectOf(pairs: Pairs, before: RuntimeConfig, after: RuntimeConfig): Promise<PreviewedQueries> {
  const { record, judge } = podOf();
  ask(record, { pairs, config: before });
  return judge(before, after, everything);
}

type Row = readonly [sentence: string, more: Pairs, metric: Partial<MetricConfig>, code: string];
const gone: readonly Row[] = [
  ["another name of the metric", [], { id: "queue_lag" }, "unknown_metric"],
  ["fewer aggregations", [["agg", "max"]], { aggregations: ["avg"] }, "invalid_aggregation"],
  ["a label fewer for groups", [["group_by", "service"]], { labels: ["region"] }, "invalid_group_by"],
  ["a label fewer for filters", [["filter[service]", "api"]], { labels: ["region"] }, "invalid_filter"],
  ["fewer labels at once", [["group_by", "service,region"]], { maxGroupBy: 1 }, "invalid_group_by"],
  ["a coarser smallest step", [], { minStepSeconds: 300 }, "invalid_step"],
  ["a narrower compliance scope", [], { complianceScope: { regions: ["eu"] } }, "region_forbidden"],
  ["a role", [], { sensitivity: "confidential" as MetricConfig["sensitivity"], requiredRole: "risk" }, "role_missing"],
  ["an end of the metric", [], { sunsetAtMs: nowMs - 1 }, "metric_gone"],
];

describe("an edit of a catalog", () => {
  test.each(gone)(
    "with %s refuses a recorded query as the product does, and its opposite allows it",
    async (...row) => {
      const [, more, metric, code] = row;
      const [now, edited] = [configWith(), configWith(metric)];
      const pairs = [...lag, ...more];
      const effect = await effectOf(pairs, now, edited);
      expect(effect).toMatchObject({
        judged: 1,
        refused: 1,
        allowed: 0,
        shapes: [{ effect: "refused", after: { code } }],
      });
      const asked = (): void => {
        const { metrics } = makeQuery(parameters(pairs), reader, contextOf(edited), nowMs);
        rejectSunset(
          metrics.map(({ entry }) => entry.metric),
          nowMs,
        );
      };
      expect(refused(asked)).toContain(code);
      expect(await effectOf(pairs, edited, now)).toMatchObject({ refused: 0, allowed: 1 });
    },
  );

  test("of what a metric means counts its queries, whose cost and result stay", async () => {
    const source = { kind: "gauge", name: "lag_of_failures", matchers: [] } as const;
    const changed = await effectOf(lag, configWith(), configWith({ source, unit: "ratio" }));
    expect(changed).toMatchObject({ judged: 1, refused: 0, allowed: 0, dearer: 0, cheaper: 0, other_values: 1 });
    expect(changed.changed_metrics).toEqual([
      { metric: "lag", fields: ["source.name", "unit"], queries: 1, objectives: [] },
    ]);
    const described = await effectOf(lag, configWith(), configWith({ description: "another" }));
    expect(described).toMatchObject({ other_values: 0, changed_metrics: [] });
  });

  test("of what a metric means has no metric that the caller may not read", async () => {
    const { judge } = podOf();
    const edited = configWith({ unit: "ratio" });
    const seen = async (metrics: readonly string[]) =>
      (await judge(configWith(), edited, { ...everything, metrics })).changed_metrics?.length;
    expect([await seen(["lag"]), await seen(["depth"])]).toEqual([1, 0]);
  });

  test("with fewer stores makes a query cheaper by what the product estimates", async () => {
    const [now, edited] = [configWith(), configWith({ intervalSeconds: { eu: 15 } })];
    const costOf = (config: RuntimeConfig): number =>
      price(makePlan(makeQuery(parameters(lag), reader, contextOf(config), nowMs), nowMs), reader).estimate;
    const costs = [now, edited].map(costOf);
    expect(costs).toEqual([1_440, 720]);
    const { shapes, ...counts } = await effectOf(lag, now, edited);
    expect(counts).toMatchObject({ seen: 1, judged: 1, refused: 0, allowed: 0, dearer: 0, cheaper: 1 });
    expect(shapes).toMatchObject([{ before: { cost: 1_440, code: null }, after: { cost: 720, class: "A" } }]);
    expect(await effectOf(lag, edited, now)).toMatchObject({ dearer: 1, cheaper: 0 });
  });
});

describe("an edit of a quota", () => {
  test.each([
    ["a shorter window", { maxWindowSeconds: 3_600 }, "invalid_window"],
    ["a coarser step", { minStepSeconds: 300 }, "invalid_step"],
    ["a burst below the cost", { burstCostUnits: 1_439 }, "cost_exceeded"],
  ])("with %s refuses a recorded query", async (_, limits, code) => {
    const effect = await effectOf(lag, configWith(), configWith({}, limits));
    expect(effect).toMatchObject({ refused: 1, shapes: [{ before: { code: null }, after: { code } }] });
  });

  test("that allows exactly the cost of a query changes nothing", async () => {
    const effect = await effectOf(
      lag,
      configWith(),
      configWith({}, { burstCostUnits: 1_440, maxWindowSeconds: 21_600 }),
    );
    expect(effect).toMatchObject({ judged: 1, refused: 0, shapes: [] });
  });
});

describe("the effect on recorded queries", () => {
  test("has those of all pods that answer", async () => {
    const installation = podsOfATest();
    const [one, other] = ["pod-a", "pod-b"].map((name) => podOf(installation.join(name)));
    for (const pod of [one, other, other]) if (pod !== undefined) ask(pod.record, { pairs: lag });
    const edited = configWith({ id: "queue_lag" });
    const judge = async () => one?.judge(configWith(), edited, everything);
    expect(await judge()).toMatchObject({
      pods: { live: 2, answered: 2 },
      seen: 3,
      refused: 3,
      shapes: [{ count: 3 }],
    });
    installation.isCut = true;
    expect(await judge()).toMatchObject({ pods: { live: 2, answered: 1 }, seen: 1, refused: 1 });
  });

  test("has only those that the caller may see", async () => {
    const { record, judge } = podOf();
    const edited = configWith({ id: "queue_lag" });
    for (const tenant of ["brand-a", "brand-b"]) ask(record, { pairs: lag, caller: { ...reader, tenants: [tenant] } });
    const judgedFor = async (rights: Partial<typeof everything>) => {
      const { seen, judged, refused: count } = await judge(configWith(), edited, { ...everything, ...rights });
      return { seen, judged, count };
    };
    expect(await judgedFor({})).toEqual({ seen: 2, judged: 2, count: 2 });
    expect(await judgedFor({ tenants: ["brand-b"] })).toEqual({ seen: null, judged: 1, count: 1 });
    expect(await judgedFor({ tenants: ["brand"] })).toEqual({ seen: null, judged: 0, count: 0 });
    expect(await judgedFor({ metrics: ["queue_lag"] })).toEqual({ seen: null, judged: 0, count: 0 });
  });

  test("shows a bounded number of shapes, the most frequent first, and counts all", async () => {
    const { record, judge } = podOf();
    const pairsOf = (index: number): Pairs => [...lag.slice(0, 2), ["step", `${index + 60}s`]];
    const count = shownMax + 10;
    for (let index = 0; index < count; index += 1) ask(record, { pairs: pairsOf(index) });
    ask(record, { pairs: pairsOf(count - 1) });
    const effect = await judge(configWith(), configWith({ id: "queue_lag" }), everything);
    expect(effect).toMatchObject({ refused: count + 1, shapes: { length: shownMax } });
    expect(effect.shapes[0]).toMatchObject({ count: 2, step: `${count + 59}s` });
  });

  test("holds for a query of one point too", async () => {
    const { record, judge } = podOf();
    ask(record, { pairs: [["metric", "lag"]], route: "instant" });
    const effect = await judge(configWith(), configWith({ intervalSeconds: { eu: 15 } }), everything);
    expect(effect.shapes).toMatchObject([{ effect: "cheaper", before: { cost: 4 }, after: { cost: 2 } }]);
  });
});
