import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RuntimeConfig, SloConfig } from "../../../crds/config.ts";
import { startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { waitFor } from "../../support/wait.ts";
import { remoteWrite } from "../../support/remote-write.ts";
import { startStoreProxy, type StoreProxy } from "../stores/store-proxy.ts";
import { metricsServerOver, type HttpAnswer, type MetricsServer } from "../http/routes/metrics-server.ts";
import { configOf, metricConfig, storeConfig, wideLimits } from "./oracle/universe.ts";

/** A region that is slow, hangs or rejects connections takes nothing from the others: all stores are real. */

const nowMs = Date.parse("2026-01-02T12:00:30Z");
const stepMs = 60_000;
const minutes = 30;
const regions = ["apac", "eu"] as const;
const metrics = Array.from({ length: 50 }, (_, index) => `queue_${index}`);
const objectives = Array.from({ length: 40 }, (_, index) => `objective_${index}`);
const timeoutMs = 30_000;
const deadlineMs = 20_000;
/** Most requests until every objective is there. A busy machine gets less done within one deadline. */
const turnsMax = 60;

let stores: readonly PrometheusHandle[] = [];
let proxies: readonly StoreProxy[] = [];
let server: MetricsServer;

beforeAll(async () => {
  stores = await Promise.all(
    regions.map(async () => {
      const store = await startPrometheus();
      await remoteWrite(store.url, written());
      return store;
    }),
  );
}, 60_000);
beforeEach(async () => {
  proxies = await Promise.all(stores.map((store) => startStoreProxy(store.url)));
  server = metricsServerOver({}, { now: () => nowMs, deadlineMs });
  server.apply(configOver(proxies.map(({ url }) => url)));
  return async () => {
    await server.close();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  };
});
afterAll(() => Promise.all(stores.map((store) => store.stop())));

function written() {
  const samples = Array.from({ length: minutes }, (_, minute) => nowMs - (minutes - minute) * stepMs);
  const labels = { tenant: "brand-a", env: "prod", service: "api" };
  return [
    ...metrics.map((name, index) => ({ name, labels, samples: samples.map((ms) => ({ ms, value: index })) })),
    ...objectives.flatMap((id) =>
      ["good", "all"].map((name, part) => ({
        name: `${id}_${name}_total`,
        labels,
        samples: samples.map((ms, minute) => ({ ms, value: minute * (99 + part) })),
      })),
    ),
  ];
}

function configOver(urls: readonly string[]): RuntimeConfig {
  const configs = regions.map((region, index) =>
    storeConfig(
      { name: region, region, url: "" },
      { prometheus: { url: urls[index] ?? "", timeoutMs, flavour: "Prometheus", headers: {} } },
    ),
  );
  const everyMinute = {
    intervalSeconds: Object.fromEntries(regions.map((region) => [region, 60])),
    minStepSeconds: 60,
  };
  const base = configOf(configs, [
    ...metrics.map((id) =>
      metricConfig(id, configs, { source: { kind: "gauge", name: id, matchers: [] }, ...everyMinute }),
    ),
    ...objectives.map((id) =>
      metricConfig(id, configs, {
        source: {
          kind: "ratio",
          increase: "Extrapolated",
          numerator: { name: `${id}_good_total`, matchers: [] },
          denominator: { name: `${id}_all_total`, matchers: [] },
        },
        aggregations: ["avg"],
        ...everyMinute,
      }),
    ),
  ]);
  const slos = objectives.map((name, index): SloConfig => ({
    name,
    domain: index < 8 ? "checkout" : index < 11 ? "cart" : "orders",
    metric: name,
    objective: 0.9,
    counts: "Good",
    windowDays: 30,
    minimumEvents: 1,
    burnRates: [14.4, 6, 3, 1],
    public: false,
  }));
  return {
    ...base,
    classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits },
    catalogs: base.catalogs.map((catalog) => ({ ...catalog, slos })),
  };
}

const window = "filter%5Btenant%5D=brand-a&from=2026-01-02T11:40:00Z&to=2026-01-02T11:50:00Z&step=1m";
const bulkWindow = { from: "2026-01-02T11:40:00Z", to: "2026-01-02T11:50:00Z", step: "1m" };
const wanted = (ids: readonly string[]): string => ids.map((id) => `metric=${id}`).join("&");

interface Region {
  readonly region: string;
  readonly state: string;
}
interface Body {
  readonly data: readonly { readonly metric: string }[];
  readonly meta?: { readonly regions: readonly Region[] };
}
interface SloBody {
  readonly data?: readonly {
    readonly name: string;
    readonly status: string;
    readonly sli?: number;
    readonly at: string;
    readonly regions: readonly Region[];
  }[];
}
const statesOf = (listed: readonly Region[]): string =>
  listed.map(({ region, state }) => `${region}=${state}`).join(" ");
const bodyOf = (answer: HttpAnswer): Body => answer.json() as Body;
const seriesOf = (answer: HttpAnswer): number => bodyOf(answer).data.length;
const [apac, eu] = [0, 1].map((index) => (): StoreProxy => proxies[index] as StoreProxy) as [
  () => StoreProxy,
  () => StoreProxy,
];
async function objectivesOf(filter: string): Promise<SloBody & { readonly status: number; readonly retry: unknown }> {
  const answer = await server.get(`/v1/metrics/slo?tenant=brand-a${filter}`);
  return { status: answer.status, retry: answer.headers["retry-after"], ...(answer.json() as SloBody) };
}
const queryOf = (region: string): Promise<HttpAnswer> =>
  server.get(`/v1/metrics/query?${window}&metric=queue_1&filter%5Bregion%5D=${region}`);

/** Ends the requests that hang when all those of the other region have been sent: only then can they have been read. */
async function untilRead<Answer>(reads: number, send: () => Promise<Answer>): Promise<Answer> {
  const before = eu().paths.length;
  const answer = send();
  await waitFor(() => eu().paths.length >= before + reads, {
    timeoutMs: 15_000,
    what: "the reads of the other region",
  });
  const ending = setInterval(() => apac().cut(), 50);
  return answer.finally(() => clearInterval(ending));
}

describe("a region whose store hangs", () => {
  beforeEach(async () => {
    // Both stores are known before one of them hangs.
    await Promise.all(regions.map(queryOf));
    apac().set({ isHung: true });
  });

  test("leaves every metric of the other one in the response, and its circuit breaker closed", async () => {
    const path = `/v1/metrics/query?${window}&${wanted(metrics)}`;
    const answer = await untilRead(100, () => server.get(path));
    expect([answer.status, seriesOf(answer), statesOf(bodyOf(answer).meta?.regions ?? [])]).toEqual([
      206,
      50,
      "apac=failed eu=ok",
    ]);
    const later = await Promise.all(Array.from({ length: 20 }, () => queryOf("eu")));
    expect(new Set(later.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test("leaves the other one's data in every query of a bulk", async () => {
    const queries = metrics
      .slice(0, 20)
      .map((id) => ({ id, metric: id, filter: { tenant: "brand-a" }, ...bulkWindow }));
    const answer = await untilRead(40, () => server.post("/v1/metrics/bulk-query", { queries }));
    const { results } = answer.json() as { readonly results: readonly (Body & { readonly status: number })[] };
    expect(results.map(({ status, meta }) => `${status} ${statesOf(meta?.regions ?? [])}`)).toEqual(
      Array(20).fill("206 apac=failed eu=ok"),
    );
  });

  test("leaves the other one's events in every objective", async () => {
    // Eight objectives of eight windows and two parts, and a newest sample each.
    const { status, retry, data } = await untilRead(8 * 17, () => objectivesOf("&domain=checkout"));
    expect(Number(retry)).toBeGreaterThan(0);
    const seen = new Set(data?.map((one) => `${one.status} ${one.sli?.toFixed(2)} ${statesOf(one.regions)}`));
    expect([status, seen]).toEqual([206, new Set(["ok 0.99 apac=failed eu=ok"])]);
    const all = await server.get("/v1/metrics/slo?tenant=brand-a&region=apac");
    expect([all.status, all.json()]).toMatchObject([
      502,
      { code: "store_failed", detail: expect.stringContaining("apac (failed)") as unknown },
    ]);
  });
});

describe("a store that is too slow for all objectives", () => {
  test("gets as many as fit, reports the others as late, and has more for the next request", async () => {
    await server.close();
    server = metricsServerOver({}, { now: () => nowMs, deadlineMs: 1_500 });
    server.apply(configOver(proxies.map(({ url }) => url)));
    await Promise.all(regions.map(queryOf));
    apac().set({ delayMs: 250 });
    const counts: number[] = [];
    // A busy machine may not get to the first objective within one deadline.
    for (let turn = 0; turn < 8 && new Set(counts).size < 3; turn += 1) {
      const { status, data } = await objectivesOf("&region=apac");
      const states = new Set(data?.map((one) => `${one.status} ${statesOf(one.regions)}`));
      expect(["ok apac=ok", "late apac=late"]).toEqual(expect.arrayContaining([...states]));
      expect(status).toBe(data === undefined ? 504 : 206);
      counts.push(data?.filter((one) => one.status === "ok").length ?? 0);
    }
    expect(new Set(counts).size).toBeGreaterThanOrEqual(3);
    expect(counts).toEqual(counts.toSorted((one, other) => one - other));
    expect((await queryOf("apac")).status).toBe(200);
    expect(apac().openMax()).toBeLessThanOrEqual(20);
  });

  // Eight windows with two parts, and a newest sample.
  const readsOfObjective = 17;
  const probeRequests = 4;
  const ofCart = 3;

  test.each([
    ["takes most of a deadline", { delayMs: 900 }],
    ["serves few requests at once", { delayMs: 200, concurrency: 4 }],
  ])("gets each read once if it %s, and has all objectives from then on", async (_, faults) => {
    await server.close();
    let clockMs = nowMs;
    server = metricsServerOver({}, { now: () => clockMs, deadlineMs: 1_500 });
    server.apply(configOver(proxies.map(({ url }) => url)));
    await Promise.all(regions.map(queryOf));
    apac().set(faults);
    const before = apac().paths.length;
    const readyOf = ({ data = [] }: SloBody, time: string): number =>
      data.filter(
        ({ status, regions: listed, at }) => `${status} ${statesOf(listed)}` === "ok apac=ok" && at.includes(time),
      ).length;
    const counts: number[] = [];
    while (counts.at(-1) !== ofCart && counts.length < turnsMax)
      counts.push(readyOf(await objectivesOf("&domain=cart&region=apac"), "T12:00:00"));
    expect(counts).toEqual(counts.toSorted((one, other) => one - other));
    expect([counts.at(-1), apac().paths.length - before]).toEqual([ofCart, ofCart * readsOfObjective]);

    // The windows move on: what is not read in time is a minute old.
    clockMs += stepMs;
    const [older, newer]: [number[], number[]] = [[], []];
    while (newer.at(-1) !== ofCart && newer.length < turnsMax) {
      const answer = await objectivesOf("&domain=cart&region=apac");
      expect(answer.status).toBe(200);
      older.push(readyOf(answer, "T12:00:00"));
      newer.push(readyOf(answer, "T12:01:00"));
    }
    expect(older.map((count, turn) => count + (newer[turn] ?? 0))).toEqual(older.map(() => ofCart));
    expect([older[0], newer.at(-1)]).toEqual([expect.toSatisfy((count: number) => count > 0), ofCart]);
    // The store is probed again after a minute.
    expect(apac().paths.length - before).toBe(2 * ofCart * readsOfObjective + probeRequests);
  });
});
