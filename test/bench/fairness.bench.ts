import { monitorEventLoopDelay } from "node:perf_hooks";
import { pino } from "pino";
import { classDefaults } from "../../crds/compile/class-defaults.ts";
import type { QuotaConfig } from "../../crds/config.ts";
import { countBytesOutsideLikeInside } from "../../runtime/cli/heap.ts";
import { metricsServerOver } from "../runtime/http/routes/metrics-server.ts";
import { everyone } from "../runtime/metrics/oracle/universe.ts";
import { quantile } from "./figures.ts";
import { startQueryLoad, startStore } from "./load/children.ts";
import type { QueryClient, QueryResult } from "./load/query-load-process.ts";

/**
 * What a heavy client of class C costs those of class A: dashboards at a fixed rate, alone and beside a client that
 * spends as much as class C has in a minute, in turn. Callers and the store are processes of their own, and nothing is
 * cached.
 */
const seconds = Number(process.argv[2] ?? 5);
const rounds = Number(process.argv[3] ?? 5);
// This process plays the program.
countBytesOutsideLikeInside();

const endMs = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();
const origin = { uid: "q", namespace: "n", name: "q", generation: 1, specDigest: "" };
const uncached = { memorySeconds: 0, distributedSeconds: 0, hotTailSeconds: 0, staleWhileRevalidateSeconds: 0 };
const limitsOf = (name: "A" | "C"): QuotaConfig["limits"] => ({ ...classDefaults[name], ...uncached });
const quota = (name: "A" | "C", client: string): QuotaConfig => ({
  ...origin,
  class: name,
  limits: limitsOf(name),
  perMetric: [],
  clients: [{ clientId: client, tenants: [], regions: [], environments: [], metrics: [] }],
});

const store = await startStore();
const server = metricsServerOver(
  { eu: store.url },
  {
    now: Date.now,
    log: pino({ level: "silent" }),
    deadlineMs: 5_000,
    authenticate: async (authorization) => ({ ...everyone, client: String(authorization), scopes: ["metrics:read"] }),
  },
);
const dashboards = Array.from({ length: 5 }, (_, index) => `dashboard-${index}`);
server.apply({ ...server.config, quotas: [quota("C", "analyst"), ...dashboards.map((client) => quota("A", client))] });
const url = await server.app.listen({ host: "127.0.0.1", port: 0 });

const light = (client: string): QueryClient => ({
  headers: { authorization: client },
  paths: Array.from(
    { length: 20 },
    (_, place) =>
      `/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-${place}&step=1m&` +
      `from=${iso(endMs - 3 * 3_600_000)}&to=${iso(endMs)}`,
  ),
});
/** 50 series of 2,016 points: 13 of these in ten seconds are what a minute of class C pays for. */
const heavy: QueryClient = {
  headers: { authorization: "analyst" },
  paths: Array.from(
    { length: 5 },
    (_, place) =>
      `/v1/metrics/query?metric=payments&agg=sum&filter[tenant]=brand-${place}&group_by=service&step=5m&` +
      `from=${iso(endMs - 7 * 86_400_000)}&to=${iso(endMs)}`,
  ),
};

const [dashboardLoad, analystLoad] = [await startQueryLoad(), await startQueryLoad()];
const dashboardsAsk = (): Promise<QueryResult> =>
  dashboardLoad.run({ origin: url, seconds, perSecond: 8, clients: dashboards.map(light) });
const analystAsks = (): Promise<QueryResult> =>
  analystLoad.run({ origin: url, seconds, perSecond: 10, clients: [heavy] });
const p95 = ({ kinds }: QueryResult): number => quantile(Object.values(kinds).flat(), 0.95);
const kindsOf = ({ kinds }: QueryResult): string =>
  Object.entries(kinds)
    .map(([kind, times]) => `${times.length} × ${kind}`)
    .join(", ");

const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
const [alone, beside]: [number[], number[]] = [[], []];
for (let round = -1; round < rounds; round += 1) {
  const one = await dashboardsAsk();
  delays.reset();
  const [other, analyst] = await Promise.all([dashboardsAsk(), analystAsks()]);
  console.log(
    `${round < 0 ? "not counted" : `round ${round + 1}`}: p95 alone ${p95(one).toFixed(1)} ms (${kindsOf(one)}), ` +
      `beside ${p95(other).toFixed(1)} ms (${kindsOf(other)}); the analyst: ${kindsOf(analyst)}, p95 ` +
      `${p95(analyst).toFixed(0)} ms; rounds of the event loop p99 ${(delays.percentile(99) / 1e6).toFixed(1)} ms, ` +
      `longest ${(delays.max / 1e6).toFixed(1)} ms`,
  );
  if (round < 0) continue;
  alone.push(p95(one));
  beside.push(p95(other));
}
const moved = quantile(
  beside.map((ms, round) => ms - (alone[round] ?? 0)),
  0.5,
);
const most = Math.max(5, 0.2 * quantile(alone, 0.5));
console.log(
  `median of ${rounds}: p95 moves by ${moved.toFixed(1)} ms, at most ${most.toFixed(1)} ms: ` +
    (moved <= most ? "holds" : "DOES NOT HOLD"),
);
await Promise.all([dashboardLoad.stop(), analystLoad.stop(), store.stop()]);
await server.close();
