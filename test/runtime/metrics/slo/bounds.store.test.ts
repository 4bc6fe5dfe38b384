import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { remoteWrite } from "../../../support/remote-write.ts";
import { waitFor } from "../../../support/wait.ts";
import { random } from "../oracle/generated-series.ts";
import { metricsServerOver, type MetricsServer } from "../../http/routes/metrics-server.ts";

/** Histograms whose threshold is no bound of all series in one store, as during a rolling deployment. All are fast. */

const minuteMs = 60_000;
const nowMs = Date.parse("2026-01-02T12:00:00Z");
const minutes = 600;
const startMs = nowMs - (minutes - 1) * minuteMs;

interface Pod {
  readonly pod: string;
  /** From which minute on it has the bound 300; none never. */
  readonly boundFrom?: number;
  readonly boundTo?: number;
}

const tenants: Readonly<Record<string, readonly Pod[]>> = {
  "brand-all": [
    { pod: "a", boundFrom: 0 },
    { pod: "b", boundFrom: 0 },
  ],
  "brand-half": [{ pod: "a", boundFrom: 0 }, { pod: "b" }],
  "brand-new": [{ pod: "a", boundFrom: 540 }],
  "brand-gone": [{ pod: "a", boundFrom: 0, boundTo: 300 }],
  "brand-none": [{ pod: "a" }],
};

function seriesOf(tenant: string, { pod, boundFrom = minutes, boundTo = minutes }: Pod) {
  const labels = { tenant, env: "prod", service: "api", pod };
  const samples = Array.from({ length: minutes }, (_, minute) => ({
    ms: startMs + minute * minuteMs,
    value: minute * 6,
  }));
  return [
    { name: "latency_count", labels, samples },
    { name: "latency_bucket", labels: { ...labels, le: "+Inf" }, samples },
    { name: "latency_bucket", labels: { ...labels, le: "900" }, samples },
    {
      name: "latency_bucket",
      labels: { ...labels, le: "300" },
      samples: samples.filter((_, minute) => minute >= boundFrom && minute < boundTo),
    },
  ].filter(({ samples: own }) => own.length > 0);
}

/** What each pod of a tenant observes every minute, and the bounds that it has. */
interface Histogram {
  readonly tenant: string;
  readonly pods: readonly {
    readonly observed: readonly number[];
    readonly bounds: readonly number[];
    /** As Python's client writes them. */
    readonly isSpelledWithZero: boolean;
  }[];
}

const next = random(11);
const histograms: readonly Histogram[] = Array.from({ length: 40 }, (_, index) => ({
  tenant: `observed-${index}`,
  pods: Array.from({ length: 1 + Math.floor(next() * 3) }, () => ({
    observed: Array.from({ length: 1 + Math.floor(next() * 12) }, () => Math.round((next() * 30 - 10) * 100) / 100),
    bounds: [-5, 0, 1, 2, 5, 10].filter(() => next() < (index % 2 === 0 ? 1 : 0.8)),
    isSpelledWithZero: next() < 0.3,
  })),
}));

function bucketSeries({ tenant, pods }: Histogram) {
  return pods.flatMap(({ observed, bounds, isSpelledWithZero }, pod) =>
    [...bounds, Infinity].map((bound) => {
      const le = bound === Infinity ? "+Inf" : isSpelledWithZero ? `${bound}.0` : String(bound);
      const count = observed.filter((value) => value <= bound).length;
      const samples = Array.from({ length: 30 }, (_, minute) => ({
        ms: nowMs - (29 - minute) * minuteMs,
        value: 1_000 + minute * count,
      }));
      return { name: "latency_bucket", labels: { tenant, env: "prod", service: "api", pod: `${pod}`, le }, samples };
    }),
  );
}

let store: PrometheusHandle;
let server: MetricsServer;
beforeAll(async () => {
  store = await startPrometheus({ config: "storage:\n  tsdb:\n    out_of_order_time_window: 30d\n" });
  await remoteWrite(store.url, [
    ...Object.entries(tenants).flatMap(([tenant, pods]) => pods.flatMap((pod) => seriesOf(tenant, pod))),
    ...histograms.flatMap(bucketSeries),
  ]);
  server = metricsServerOver({ eu: store.url }, { now: () => nowMs });
  const catalogs = server.config.catalogs.map((catalog) => ({
    ...catalog,
    slos: [
      {
        name: "fast",
        domain: "auth",
        metric: "latency",
        objective: 0.9,
        counts: "Good" as const,
        threshold: 300,
        windowDays: 1,
        minimumEvents: 1,
        burnRates: [9, 6, 3, 1],
        public: false,
      },
    ],
  }));
  server.apply({ ...server.config, catalogs });
});
afterAll(async () => {
  await server?.close();
  await store?.stop();
});

interface SloItem {
  readonly sli?: number;
  readonly status: string;
  readonly regions: readonly { readonly state: string; readonly reasons?: readonly { readonly detail: string }[] }[];
  readonly tiers: readonly { readonly long: { readonly rate?: number } }[];
}

async function sloOf(tenant: string): Promise<SloItem> {
  const answer = await server.get(`/v1/metrics/slo?slo=fast&tenant=${tenant}`);
  const [item] = (answer.json() as { readonly data: readonly SloItem[] }).data;
  if (item === undefined) throw new Error(answer.text);
  return item;
}

describe("an objective over series without its bound", () => {
  test("counts all events while all series have it", async () => {
    expect(await sloOf("brand-all")).toMatchObject({ sli: 1, status: "ok", regions: [{ state: "ok" }] });
  });

  test.each(["brand-half", "brand-new", "brand-gone", "brand-none"])(
    "counts none of %s and says why",
    async (tenant) => {
      const { sli, status, regions } = await sloOf(tenant);
      expect([sli, status, regions[0]?.state]).toEqual([undefined, "insufficient_data", "partial"]);
      expect(regions[0]?.reasons?.[0]?.detail).toContain("no bucket of the threshold in all of its series");
    },
  );

  test("counts the windows since the bound was added", async () => {
    const { tiers } = await sloOf("brand-new");
    const rates = tiers.map(({ long }) => long.rate);
    expect([rates[0], rates.at(-1)]).toEqual([0, undefined]);
  });

  test("is the share of PromQL for the groups that have it", async () => {
    const expression = 'histogram_fraction(0, 300, sum by (le, service) (rate(latency{tenant="brand-all"}[5m])))';
    const answer = await server.get(
      `/prometheus/api/v1/query?query=${encodeURIComponent(expression)}&time=${nowMs / 1_000}`,
    );
    expect(answer.json()).toMatchObject({
      data: { result: [{ metric: { service: "api" }, value: [nowMs / 1_000, "1"] }] },
    });
  });

  test("is a warning of the store when the configuration is applied", async () => {
    const stores = await waitFor(
      async () => {
        const body = (await server.get("/v1/metrics/health")).json() as {
          readonly stores: readonly { readonly warnings?: readonly string[] }[];
        };
        return body.stores[0]?.warnings === undefined ? undefined : body.stores;
      },
      { timeoutMs: 10_000, what: "the warning" },
    );
    expect(stores).toMatchObject([
      { warnings: [expect.stringMatching(/^the objective fast requires the bucket of 300/u)] },
    ]);
  });
});

interface PercentileBody {
  readonly data: readonly {
    readonly points: readonly (readonly [string, number])[];
    readonly error_bounds: readonly (readonly [low: number | null, high: number | null])[];
  }[];
  readonly meta: { readonly regions: readonly unknown[] };
}

describe("the percentile of series with different bounds", () => {
  const percentiles = [
    ["p50", 1, 2],
    ["p95", 19, 20],
    ["p99", 99, 100],
  ] as const;
  test.each(percentiles)("lies within its error bounds, or is absent with a reason: %s", async (agg, share, of) => {
    const judged = await Promise.all(histograms.map((histogram) => judge(histogram, agg, share / of)));
    expect(judged.filter((one) => one.fault !== undefined)).toEqual([]);
    expect(judged.filter(({ points }) => points === 0).length).toBeLessThan(10);
  });
});

/** What is wrong with the percentile of one tenant, and how many points it has. */
async function judge({ tenant, pods }: Histogram, agg: string, quantile: number) {
  const all = pods.flatMap(({ observed }) => observed).sort((a, b) => a - b);
  const truth = all[Math.ceil(Number((quantile * all.length).toFixed(9))) - 1] ?? Number.NaN;
  const window = "from=2026-01-02T11:45:00Z&to=2026-01-02T11:55:00Z&step=5m";
  const answer = await server.get(`/v1/metrics/query?metric=latency&agg=${agg}&filter[tenant]=${tenant}&${window}`);
  const { data, meta } = answer.json() as PercentileBody;
  const bounds = data.flatMap((series) => series.error_bounds);
  const shared = (pods[0]?.bounds ?? []).filter((bound) => pods.every((pod) => pod.bounds.includes(bound)));
  const reasons = JSON.stringify(meta.regions);
  const isReported = bounds.length === 0 && reasons.includes("no bucket with a finite bound in all of its series");
  const isContained =
    bounds.every(([low]) => low === null || low <= truth) && bounds.every(([, high]) => high === null || truth <= high);
  const isRight = shared.length === 0 ? isReported : bounds.length === 2 && isContained;
  return { points: bounds.length, fault: isRight ? undefined : { tenant, bounds, truth, shared, reasons } };
}
