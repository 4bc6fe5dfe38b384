import { describe, expect, test } from "vitest";
import type { CatalogChecksAnswer } from "../../../../api/catalog.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { checksReport, type ChecksReport, type ReadPair } from "../../../../runtime/metrics/observed/checks-report.ts";
import { checksResponse } from "../../../../runtime/metrics/observed/checks-response.ts";
import { factSteps, type MetricFacts } from "../../../../runtime/metrics/observed/metric-facts.ts";
import { faultsIn } from "../../http/openapi/strict-schema.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig } from "../oracle/universe.ts";

const [eu, us, peer] = ["eu", "us", "peer"].map((name) => storeConfig({ name, region: name, url: "http://a" }));
const source = { kind: "gauge", name: "lag", matchers: [] } as const;
const stores = [eu, us, peer].flatMap((one) => one ?? []);
const metrics = ["lag", "depth"].map((id) => metricConfig(id, stores, { source, labels: ["region"] }));
const config = configOf(stores, metrics);
const index = indexCatalogs(config.catalogs);
const facts = (series: number): MetricFacts => ({
  samples: new Map([["series series", series]]),
  type: new Map(),
  labels: [],
  values: { counts: new Map([["label tenant series", 1]]), suspects: new Map() },
});
const [atMs, laterMs] = [Date.parse("2026-11-27T12:00:00Z"), Date.parse("2026-11-27T12:03:00Z")];

/** Samples in `eu`, none in `us`, and a store that is not compared. */
const report = checksReport(config.catalogs, index, (store, id): ReadPair | undefined => {
  const entry = index.get(id);
  if (entry === undefined || store.config.name === "peer") return undefined;
  const readMs = new Map(factSteps.map((step, place) => [step, place === 2 ? atMs : laterMs]));
  return {
    entry,
    store,
    facts: facts(store.config.name === "eu" || id === "depth" ? 1 : 0),
    faults: new Map(),
    readMs,
  };
});

function bodyOf(regions: readonly string[], of: ChecksReport | undefined): CatalogChecksAnswer {
  const context = { catalog: index, quotas: config };
  const { body } = checksResponse(parameters([]), { ...everyone, regions }, context, of);
  expect(faultsIn(body, "CatalogChecksAnswer")).toEqual([]);
  return body as CatalogChecksAnswer;
}
const short = (body: CatalogChecksAnswer): unknown =>
  body.data.map(({ metric_id: id, status, message, stores: own }) => [id, status, message, own?.map((o) => o.store)]);
const noSeries = "no series lag with these matchers";
const peerText = "it is a peer, or requires a tenant in each request";

describe("the checks of a catalog in a response", () => {
  test("have each store, with the time of its oldest response", () => {
    const body = bodyOf(["*"], report);
    expect(body.meta).toEqual({ total: 2, failed: 1, unknown: 0 });
    expect(body.data.find(({ metric_id: id }) => id === "lag")).toEqual({
      metric_id: "lag",
      status: "False",
      check: "series",
      message: `us: ${noSeries}`,
      catalog: expect.stringMatching(/^[^/]+\/[^/]+$/u) as unknown,
      stores: [
        { store: "us", status: "False", check: "series", message: noSeries, checked_at: "2026-11-27T12:00:00.000Z" },
        { store: "peer", status: "NotChecked", message: peerText },
        { store: "eu", status: "True", message: "", checked_at: "2026-11-27T12:00:00.000Z" },
      ],
    });
  });

  test("are those of the stores in the regions of the caller", () => {
    expect(short(bodyOf(["eu"], report))).toEqual([
      ["depth", "True", "", ["eu"]],
      ["lag", "True", "", ["eu"]],
    ]);
    expect(short(bodyOf(["peer"], report))).toEqual(
      ["depth", "lag"].map((id) => [id, "NotChecked", "no store of the metric can be checked from here", ["peer"]]),
    );
  });

  test("have no stores from a pod of an earlier version", () => {
    const { stores: _stores, ...earlier } = report;
    expect(short(bodyOf(["*"], earlier))).toEqual([
      ["depth", "True", "", undefined],
      ["lag", "False", `us: ${noSeries}`, undefined],
    ]);
  });

  test.each([
    ["the pod that compares catalogs does not respond", undefined],
    ["not compared yet", { catalogs: [], checked: [], stores: [] }],
  ])("are unknown: %s", (message, of) => {
    const body = bodyOf(["*"], of);
    expect(body.meta).toEqual({ total: 2, failed: 0, unknown: 2 });
    expect(short(body)).toEqual(["depth", "lag"].map((id) => [id, "Unknown", message, undefined]));
  });
});
