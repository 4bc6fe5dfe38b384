import { devNull } from "node:os";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { fastify } from "fastify";
import { pino } from "pino";
import { Registry } from "prom-client";
import { request } from "undici";
import type { ClassLimits } from "../../crds/config.ts";
import { countBytesOutsideLikeInside } from "../../runtime/cli/heap.ts";
import { defaultSettings } from "../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../runtime/http/authentication/authenticate.ts";
import { KeySource } from "../../runtime/http/authentication/key-source.ts";
import { createRequestMetrics } from "../../runtime/http/server/request-metrics.ts";
import type { SharedBytes } from "../../runtime/metrics/cache/shared-extents.ts";
import { metricsServerOver, simulated, type MetricsServer } from "../runtime/http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore } from "../runtime/stores/scripted-store.ts";
import { makeIssuer, signToken } from "../support/tokens.ts";
import { showBar, quantile, spread } from "./figures.ts";
import { startQueryLoad, type QueryLoad } from "./load/children.ts";
import type { QueryClient, QueryOrder, QueryResult } from "./load/query-load-process.ts";
import { endMs, startRecentStore } from "./metrics-stores.ts";

/**
 * What caches are worth, with tokens, quotas, ETags, metrics and a log line for each request, and callers in a process
 * of their own. References: a Fastify route that sends the same bytes from memory, in this process, in turn with ours;
 * and what the stores were asked.
 */
const parts = (process.argv[2] ?? "sliding,hot,crowd").split(",");
const seconds = Number(process.argv[3] ?? 5);
const rounds = Number(process.argv[4] ?? 3);
const minutes = Number(process.argv[5] ?? 1);
// This process plays the program.
countBytesOutsideLikeInside();

const issuer = await makeIssuer("https://id.example");
const authenticate = createAuthenticate(
  [
    {
      settings: { issuer: issuer.issuer, audiences: ["heliograph"], algorithms: [issuer.algorithm], grants: [] },
      keys: new KeySource(async () => ({ keys: [issuer.publicJwk] }), Date.now),
    },
  ],
  defaultSettings.claims,
  Date.now,
);

const tokenOf = (client: string): Promise<string> =>
  signToken(issuer, {
    iss: issuer.issuer,
    aud: "heliograph",
    sub: client,
    client_id: client,
    exp: Math.floor(Date.now() / 1_000) + 3_600,
    tenants: ["*"],
    scope: "metrics:read",
  });

interface Limited {
  readonly server: MetricsServer;
  readonly origin: string;
}

async function serve(
  store: string,
  limits: Partial<ClassLimits>,
  more: { readonly now: () => number; readonly sharedBytes?: SharedBytes },
): Promise<Limited> {
  const registry = new Registry();
  const noted = {
    registry,
    observe: createRequestMetrics(registry),
    log: pino({}, pino.destination({ dest: devNull, sync: false, minLength: 8_192 })),
  };
  const server = metricsServerOver({ eu: store }, { ...more, ...noted, authenticate, deadlineMs: 20_000 });
  const { classDefaults } = server.config;
  const catalogs = server.config.catalogs.map((catalog) => ({
    ...catalog,
    metrics: catalog.metrics.map((metric) => ({ ...metric, minStepSeconds: 15 })),
  }));
  server.apply({
    ...server.config,
    catalogs,
    classDefaults: { ...classDefaults, A: { ...classDefaults.A, ...limits } },
  });
  return { server, origin: await server.app.listen({ host: "127.0.0.1", port: 0 }) };
}

const iso = (ms: number): string => new Date(ms).toISOString();
const all = ({ kinds }: QueryResult): readonly number[] => Object.values(kinds).flat();
const kindsOf = ({ kinds }: QueryResult): string =>
  Object.entries(kinds)
    .map(([kind, times]) => `${times.length} × ${kind}`)
    .join(", ");
const perSecond = (result: QueryResult): number => all(result).length / result.seconds;

/** The same, with the processor time of this process for each answer, in milliseconds. */
async function measuredLoad(load: QueryLoad, order: QueryOrder): Promise<QueryResult & { readonly cpuMs: number }> {
  const before = process.cpuUsage();
  const result = await load.run(order);
  const { user, system } = process.cpuUsage(before);
  return { ...result, cpuMs: (user + system) / 1_000 / all(result).length };
}

/** One answer that is kept, and where a bare route sends its bytes. */
interface HotCase {
  readonly origin: string;
  readonly bareOrigin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
}

/** One series of 6 KB, and 50 series that are 298 KB before they are compressed. */
async function hot(load: QueryLoad, store: string): Promise<void> {
  const limits = {
    memorySeconds: 60,
    hotTailSeconds: 60,
    requestsPerSecond: 1_000_000,
    burst: 1_000_000,
    maxConcurrent: 1_000,
  };
  const { server, origin } = await serve(store, limits, { now: Date.now });
  const authorization = `Bearer ${await tokenOf("dashboards")}`;
  const window = `filter[tenant]=brand-a&from=${iso(endMs - 3 * 3_600_000)}&to=${iso(endMs)}&step=1m`;
  const cases = [
    ["one series of 180 points", `/v1/metrics/query?metric=lag&agg=max&${window}`, "identity"],
    ["50 series of 180 points, gzip", `/v1/metrics/query?metric=lag&agg=max&group_by=service&${window}`, "gzip"],
  ] as const;
  for (const [name, path, coding] of cases) {
    const headers = { authorization, "accept-encoding": coding };
    const first = await request(`${origin}${path}`, { headers });
    const bytes = Buffer.from(await first.body.arrayBuffer());
    const bare = fastify({ logger: false });
    bare.get("/bare", (_request, reply) =>
      reply.header("content-type", "application/json; charset=utf-8").header("content-encoding", coding).send(bytes),
    );
    const bareOrigin = await bare.listen({ host: "127.0.0.1", port: 0 });
    console.log(`hot: ${name}, ${bytes.length} bytes, ${seconds} s at 50 connections, ${rounds} times in turn`);
    await compare(load, { origin, bareOrigin, path, headers, etag: String(first.headers["etag"]) });
    await bare.close();
  }
  await server.close();
}

interface Turn {
  readonly rate: number;
  readonly cpuMs: number;
  readonly p99: number;
}

async function compare(load: QueryLoad, { origin, bareOrigin, path, headers, etag }: HotCase): Promise<void> {
  const turn = async (from: string, client: QueryClient): Promise<Turn> => {
    const result = await measuredLoad(load, {
      origin: from,
      seconds,
      perSecond: 0,
      clients: Array.from({ length: 50 }, () => client),
    });
    return { rate: perSecond(result), cpuMs: result.cpuMs, p99: quantile(all(result), 0.99) };
  };
  const [bare, ours, tagged]: [Turn[], Turn[], Turn[]] = [[], [], []];
  for (let round = -1; round < rounds; round += 1) {
    const one = await turn(bareOrigin, { headers: {}, paths: ["/bare"] });
    const other = await turn(origin, { headers, paths: [path] });
    const third = await turn(origin, { headers: { ...headers, "if-none-match": etag }, paths: [path] });
    if (round < 0) continue;
    bare.push(one);
    ours.push(other);
    tagged.push(third);
  }
  const of = (turns: readonly Turn[], what: keyof Turn): number =>
    quantile(
      turns.map((own) => own[what]),
      0.5,
    );
  for (const [name, turns] of [
    ["bare", bare],
    ["ours", ours],
    ["304", tagged],
  ] as const) {
    console.log(
      `  ${name}: ${of(turns, "rate").toFixed(0)} requests a second, ${of(turns, "cpuMs").toFixed(3)} ms of this ` +
        `process's CPU each, p99 ${of(turns, "p99").toFixed(1)} ms`,
    );
  }
  showBar("bare to ours (a ratio of 0.6 is 1.67)", of(bare, "rate") / of(ours, "rate"), 1 / 0.6);
  showBar("bare to 304 (a ratio of 0.75 is 1.33)", of(bare, "rate") / of(tagged, "rate"), 1 / 0.75);
  showBar("p99", of(ours, "p99"), 10, " ms");
}

/** Twenty panels of three hours that move by 15 s, over a store that counts. */
async function sliding(): Promise<void> {
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["a", "b"] }))));
  const clock = { nowMs: endMs };
  const kept = new Map<string, Uint8Array>();
  const sharedBytes: SharedBytes = {
    get: async (name) => kept.get(name),
    put: async (name, bytes) => void kept.set(name, bytes),
    state: () => "ok",
  };
  const limits = {
    memorySeconds: 60,
    distributedSeconds: 300,
    hotTailSeconds: 15,
    requestsPerSecond: 1_000,
    burst: 1_000,
    maxConcurrent: 1_000,
  };
  const { server } = await serve(store.url, limits, { now: () => clock.nowMs, sharedBytes });
  const headers = { authorization: `Bearer ${await tokenOf("dashboards")}` };
  const [panels, steps] = [20, 18];
  const ranges = (): number =>
    store.requests.filter(
      ({ path, form }) => path.endsWith("query_range") && form.get("query")?.includes("lag") === true,
    ).length;
  let [hit, miss, before] = [0, 0, 0];
  for (let step = 0; step <= steps; step += 1) {
    for (let panel = 0; panel < panels; panel += 1) {
      const answer = await server.get(
        `/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-${panel}&group_by=service&` +
          `from=${iso(clock.nowMs - 3 * 3_600_000)}&to=${iso(clock.nowMs)}&step=15s`,
        headers,
      );
      if (answer.status !== 200) throw new Error(answer.text);
      const counted = /hit=(?<hit>\d+).*miss=(?<miss>\d+)/u.exec(answer.headers["x-query-cache"] ?? "")?.groups ?? {};
      if (step === 0) continue;
      hit += Number(counted["hit"]);
      miss += Number(counted["miss"]);
    }
    if (step === 0) before = ranges();
    clock.nowMs += 15_000;
  }
  console.log(
    `sliding: ${panels} panels of 3 h in steps of 15 s, ${steps} steps after the first load, lifetimes of class C`,
  );
  showBar("points from stores", (100 * miss) / (hit + miss), 5, " %");
  showBar("requests to the store for each panel and step", (ranges() - before) / (panels * steps), 1);
  await server.close();
  await store.close();
}

/** 200 clients at 10 requests a second each, of which 95 % are repeats, over a real Prometheus. */
async function crowd(load: QueryLoad, store: string): Promise<void> {
  const limits = { memorySeconds: 60, hotTailSeconds: 60, requestsPerSecond: 10, burst: 20, maxConcurrent: 100 };
  const { server, origin } = await serve(store, limits, { now: Date.now });
  const base = `/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-a&step=1m`;
  let turn = 0;
  const cold = (): string => {
    turn += 1;
    const fromMs = endMs - 3 * 3_600_000 - (turn % 55) * 60_000;
    return (
      `${base}&filter[service]=s${String(turn % 50).padStart(2, "0")}&from=${iso(fromMs)}&` +
      `to=${iso(endMs - (Math.floor(turn / 50) % 60) * 60_000)}`
    );
  };
  const repeated = (place: number): string =>
    `${base}&filter[service]=s${String(place % 20).padStart(2, "0")}&from=${iso(endMs - 3 * 3_600_000)}&` +
    `to=${iso(endMs)}`;
  const crowdOf = async (): Promise<readonly QueryClient[]> =>
    Promise.all(
      Array.from({ length: 200 }, async (_, client) => ({
        headers: { authorization: `Bearer ${await tokenOf(`client-${client}`)}`, "accept-encoding": "gzip" },
        paths: Array.from({ length: 20 * seconds }, (_none, place) =>
          (place + client) % 20 === 0 ? cold() : repeated(place * 7 + client),
        ),
      })),
    );
  const heaps: number[] = [];
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round <= Math.ceil((minutes * 60) / seconds); round += 1) {
    const result = await load.run({ origin, seconds, perSecond: 10, clients: await crowdOf() });
    collect();
    heaps.push(process.memoryUsage().heapUsed / 2 ** 20);
    if (round > 1) continue;
    const from = (isCold: boolean): readonly number[] =>
      Object.entries(result.kinds).flatMap(([kind, times]) =>
        kind.includes("stores") === isCold && kind.startsWith("200") ? times : [],
      );
    console.log(`crowd: 200 clients at 10/s for ${seconds} s: ${kindsOf(result)}`);
    console.log(`  cached ${spread(from(false))}; cold ${spread(from(true))}`);
    showBar("cached p95", quantile(from(false), 0.95), 300, " ms");
    showBar("cold p95", quantile(from(true), 0.95), 1_500, " ms");
  }
  console.log(`  live heap after each ${seconds} s: ${heaps.map((heap) => heap.toFixed(0)).join(", ")} MiB`);
  const half = Math.floor(heaps.length / 2);
  showBar(
    "growth of the live heap over the second half",
    quantile(heaps.slice(half), 1) / quantile(heaps.slice(0, half + 1), 1),
    1.1,
  );
  await server.close();
}

if (parts.includes("sliding")) await sliding();
const store = await startRecentStore();
const load = await startQueryLoad();
if (parts.includes("hot")) await hot(load, store.server.url);
if (parts.includes("crowd")) await crowd(load, store.server.url);
await load.stop();
await store.server.stop();
