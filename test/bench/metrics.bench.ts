import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { request } from "undici";
import { countBytesOutsideLikeInside } from "../../runtime/cli/heap.ts";
import { queryBytesMax } from "../../runtime/stores/limits/byte-budget.ts";
import { healthyProbe, startScriptedStore, success } from "../runtime/stores/scripted-store.ts";
import { metricsServerOver, type MetricsServer } from "../runtime/http/routes/metrics-server.ts";
import { waitFor } from "../support/wait.ts";
import { showBar, quantile, spread, timed, timedWithCpu } from "./figures.ts";
import { endMs, startRecentStore, startWeekStore } from "./metrics-stores.ts";

/**
 * What the metrics API adds to its stores. References, measured in the same run and in turn with ours: the same
 * questions in PromQL sent straight to the store, and the same queries one by one.
 */
const rounds = Number(process.argv[2] ?? 300);
const weekRounds = Number(process.argv[3] ?? 15);
const bulkRounds = Number(process.argv[4] ?? 10);
const parts = (process.argv[5] ?? "added,bulk,week,memory").split(",");
// This process plays the program.
countBytesOutsideLikeInside();

interface Served {
  readonly server: MetricsServer;
  readonly url: string;
}

async function serve(urls: Readonly<Record<string, string>>): Promise<Served> {
  const server = metricsServerOver(urls, { now: () => endMs, deadlineMs: 20_000 });
  return { server, url: await server.app.listen({ host: "127.0.0.1", port: 0 }) };
}

/** Sends and reads the whole answer. @throws Error for another status than 200 */
async function send(
  url: string,
  options: { readonly method?: "POST"; readonly body?: string; readonly type?: string } = {},
): Promise<string> {
  const { method = "GET", body = null, type } = options;
  const headers = { authorization: "Bearer everyone", ...(type === undefined ? {} : { "content-type": type }) };
  const response = await request(url, { method, headers, body });
  const text = await response.body.text();
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${text.slice(0, 300)}`);
  return text;
}

const direct = (
  store: string,
  query: string,
  grid: { readonly seconds: number; readonly step: number },
): Promise<string> => {
  const end = endMs / 1_000;
  const form = {
    query,
    start: String(end - grid.seconds + grid.step),
    end: String(end),
    step: String(grid.step),
    nocache: "1",
  };
  return send(`${store}/api/v1/query_range`, {
    method: "POST",
    body: new URLSearchParams(form).toString(),
    type: "application/x-www-form-urlencoded",
  });
};

const iso = (ms: number): string => new Date(ms).toISOString();

/** Requests before any is timed: a server that runs for days has compiled what it does. */
const warmUps = 150;

async function addedLatency(store: string, { url }: Served): Promise<void> {
  console.log(`added to one store query: 50 series of 180 points, ${rounds} times each, in turn`);
  const window = `filter[tenant]=brand-a&group_by=service&from=${iso(endMs - 3 * 3_600_000)}&to=${iso(endMs)}&step=1m`;
  const cases = [
    ["gauge, max", `lag&agg=max`, `max by(service)(max_over_time(lag{tenant="brand-a"}[1m]))`],
    [
      "gauge, avg",
      `lag&agg=avg`,
      `sum by(service)(sum_over_time(lag{tenant="brand-a"}[1m]))/sum ` +
        `by(service)(count_over_time(lag{tenant="brand-a"}[1m]))`,
    ],
    ["counter, sum", `payments&agg=sum`, `sum by(service)(increase(payments_total{tenant="brand-a"}[1m]))`],
  ] as const;
  for (const [name, metric, promql] of cases) {
    const [ours, theirs, ourCpu, theirCpu]: [number[], number[], number[], number[]] = [[], [], [], []];
    for (let round = -warmUps; round < rounds; round += 1) {
      const one = await timedWithCpu(() => direct(store, promql, { seconds: 3 * 3_600, step: 60 }));
      const other = await timedWithCpu(() => send(`${url}/v1/metrics/query?metric=${metric}&${window}`));
      if (round < 0) continue;
      theirs.push(one.ms);
      theirCpu.push(one.cpuMs);
      ours.push(other.ms);
      ourCpu.push(other.cpuMs);
    }
    console.log(`  ${name}: direct ${spread(theirs)}; ours ${spread(ours)}`);
    console.log(`  CPU of this process, client and server: direct ${spread(theirCpu)}; ours ${spread(ourCpu)}`);
    showBar("added p50", quantile(ours, 0.5) - quantile(theirs, 0.5), 8, " ms");
    showBar("added p95", quantile(ours, 0.95) - quantile(theirs, 0.95), 20, " ms");
  }
}

async function bulk(_store: string, { url }: Served): Promise<void> {
  const panels = Array.from({ length: 50 }, (_, index) => ({
    id: `panel-${index}`,
    metric: [index % 2 === 0 ? "lag" : "payments"],
    agg: (["avg", "sum", "max"] as const)[index % 3],
    filter: { tenant: "brand-a", service: `s${String(index).padStart(2, "0")}` },
    from: iso(endMs - 3 * 3_600_000),
    to: iso(endMs),
    step: "1m",
  }));
  const dashboard = panels.map((panel, index) => ({
    ...panel,
    filter: { tenant: "brand-a" },
    agg: (["avg", "sum", "min", "max"] as const)[index % 4],
    group_by: index % 8 < 4 ? "service" : "environment",
  }));
  for (const [name, queries] of [
    ["50 queries that share nothing", panels],
    ["50 panels of one dashboard", dashboard],
  ] as const) {
    console.log(`a bulk against the same queries one by one: ${name}, ${bulkRounds} times each, in turn`);
    const [together, apart]: [number[], number[]] = [[], []];
    for (let round = -1; round < bulkRounds; round += 1) {
      const one = await timed(() =>
        send(`${url}/v1/metrics/bulk-query`, {
          method: "POST",
          body: JSON.stringify({ queries }),
          type: "application/json",
        }),
      );
      const other = await timed(async () => {
        for (const query of queries) await send(`${url}/v1/metrics/query?${queryString(query)}`);
      });
      if (round < 0) continue;
      together.push(one);
      apart.push(other);
    }
    console.log(`  bulk ${spread(together)}; one by one ${spread(apart)}`);
    showBar("ratio of the medians", quantile(together, 0.5) / quantile(apart, 0.5), 0.5);
  }
}

function queryString({
  id: _id,
  filter,
  ...query
}: {
  readonly id: string;
  readonly filter: Readonly<Record<string, string>>;
}): string {
  const filters = Object.entries(filter).map(([label, value]): [string, string] => [`filter[${label}]`, value]);
  const others = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return new URLSearchParams([...filters, ...others]).toString();
}

async function weekOfPercentiles(stores: readonly string[], { url }: Served): Promise<void> {
  console.log(
    `p95 of 7 days over 3 regions against the same three direct queries at once, ${weekRounds} times each, in turn`,
  );
  const grid = { seconds: 7 * 86_400, step: 300 };
  const promql = `histogram_quantile(0.95, sum by(le)(increase(latency_bucket{tenant="brand-a"}[5m])))`;
  const window = `from=${iso(endMs - grid.seconds * 1_000)}&to=${iso(endMs)}`;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = -1; round < weekRounds; round += 1) {
    const one = await timed(() => Promise.all(stores.map((store) => direct(store, promql, grid))));
    const other = await timed(() =>
      send(`${url}/v1/metrics/query?metric=latency&agg=p95&filter[tenant]=brand-a&${window}`),
    );
    if (round < 0) continue;
    theirs.push(one);
    ours.push(other);
  }
  console.log(`  direct ${spread(theirs)}; ours ${spread(ours)}`);
  showBar("ratio of the medians", quantile(ours, 0.5) / quantile(theirs, 0.5), 1.3);
}

/** Queries held open by a store that has answered half of each: no more than a store has connections. */
async function memoryOfQueries(): Promise<void> {
  const queries = 12;
  const waiting: (() => void)[] = [];
  const times = Array.from({ length: 180 }, (_, index) => endMs / 1_000 - (179 - index) * 60);
  const series = Array.from({ length: 50 }, (_, index) => ({
    metric: { service: `s${index}` },
    values: times.map((time) => [time, "123.456"]),
  }));
  const answer = success({ resultType: "matrix", result: series });
  const newest = success({ resultType: "vector", result: [{ metric: {}, value: [0, String(endMs / 1_000)] }] });
  const store = await startScriptedStore(
    healthyProbe((response, asked) => {
      if (asked.path.endsWith("/query")) newest(response, asked);
      else if (asked.form.get("query")?.includes("sum_over_time") === true) answer(response, asked);
      else waiting.push(() => answer(response, asked));
    }),
  );
  const { server } = await serve({ eu: store.url });
  // Equal queries would share their reads.
  const url = (place: number): string =>
    `/v1/metrics/query?metric=lag&filter[tenant]=brand-${place}&group_by=service&` +
    `from=${iso(endMs - 3 * 3_600_000)}&to=${iso(endMs)}&step=1m`;
  const hold = async (count: number): Promise<number> => {
    const before = await settledMiB();
    const running = Array.from({ length: count }, (_, place) => server.get(url(place)));
    await waitFor(() => waiting.length === count, { timeoutMs: 30_000, what: "the queries to wait" });
    const held = (await settledMiB()) - before;
    for (const go of waiting.splice(0)) go();
    await Promise.all(running);
    return held;
  };
  const helds: number[] = [];
  for (let round = 0; round < 8; round += 1) helds.push(await hold(queries));
  const held = quantile(helds, 0.5);
  console.log(
    `memory of ${queries} running queries of 50 series of 180 points: ${held.toFixed(1)} MiB; what the stores ` +
      `may answer to one is bounded at ${queryBytesMax / 2 ** 20} MiB`,
  );
  showBar("each", (held * 1_024) / queries, 1_024, " KiB");
  await server.close();
  await store.close();
}

/** After what is about to be let go has been. */
async function settledMiB(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let turn = 0; turn < 10; turn += 1) {
    await nextTurn();
    collect();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

async function recentParts(): Promise<void> {
  const recent = await startRecentStore();
  const served = await serve({ eu: recent.server.url });
  if (parts.includes("added")) await addedLatency(recent.server.url, served);
  if (parts.includes("bulk")) await bulk(recent.server.url, served);
  await served.server.close();
  await recent.server.stop();
}

async function weekPart(): Promise<void> {
  const week = await Promise.all([0, 1, 2].map((region) => startWeekStore(region)));
  const urls = week.map(({ server }) => server.url);
  const overRegions = await serve(
    Object.fromEntries(["eu", "latam", "apac"].map((region, index) => [region, urls[index] ?? ""])),
  );
  console.log(`three stores of ${week[0]?.samples ?? 0} samples each`);
  await weekOfPercentiles(urls, overRegions);
  await overRegions.server.close();
  await Promise.all(week.map(({ server }) => server.stop()));
}

if (parts.includes("added") || parts.includes("bulk")) await recentParts();
if (parts.includes("week")) await weekPart();
if (parts.includes("memory")) await memoryOfQueries();
