import * as fc from "fast-check";
import { Registry } from "prom-client";
import { beforeAll, describe, expect, test } from "vitest";
import type { ClassLimits, ClientConfig, QuotaConfig, RuntimeConfig } from "../../../crds/config.ts";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate, type Authenticate } from "../../../runtime/http/authentication/authenticate.ts";
import { KeySource, keySourceTimes } from "../../../runtime/http/authentication/key-source.ts";
import type { RequestOutcome } from "../../../runtime/http/server/request-log.ts";
import { makeIssuer, signToken, type TestIssuer } from "../../support/tokens.ts";
import { startScriptedStore, healthyProbe, type ScriptedStore } from "../stores/scripted-store.ts";
import { metricsServerOver, simulated, type HttpAnswer, type MetricsServer } from "./routes/metrics-server.ts";

/**
 * Requests that come again are answered before any route is looked for. Two servers under the same clock, configuration
 * and requests, of which one never does that: whatever happens, both answer alike, and count alike.
 */

/** Twenty seconds before a window of whole minutes moves. */
const startMs = Date.parse("2026-01-01T12:00:40Z");
const name = "https://id.example";
const at = (seconds: number): string => new Date(startMs + seconds * 1_000).toISOString();

let issuers: readonly TestIssuer[];
let tokens: readonly string[];

beforeAll(async () => {
  issuers = await Promise.all(["k0", "k1"].map((kid) => makeIssuer(name, kid)));
  const claims = { iss: name, aud: "heliograph", exp: startMs / 1_000 + 86_400, tenants: ["*"], scope: "metrics:read" };
  const signed: readonly (readonly [place: number, more: object])[] = [
    [0, { sub: "one" }],
    // Believed for the 30 s longer that clocks may differ.
    [0, { sub: "one", exp: startMs / 1_000 - 10 }],
    [0, { sub: "one", exp: startMs / 1_000 + 15 }],
    [0, { sub: "one", exp: startMs / 1_000 + 60 }],
    [1, { sub: "one" }],
    [0, { sub: "two", tenants: ["brand-a"], regions: ["eu"] }],
    [0, { sub: "two", scope: "metrics:read metrics:explain" }],
    [0, { sub: "public", scope: "metrics:read.public" }],
    [0, { sub: "three", scope: "events:write" }],
  ];
  tokens = await Promise.all(
    signed.map(async ([place, more]) => {
      const issuer = issuers[place];
      if (issuer === undefined) throw new Error("no such issuer");
      return `Bearer ${await signToken(issuer, { ...claims, ...more })}`;
    }),
  );
});

const base = "/v1/metrics/query?metric=lag&filter[region]=eu";
const fixed = `from=${at(-3_600)}&to=${at(-1_800)}&step=1m`;
const seconds = (offset: number): number => startMs / 1_000 + offset;
const expression = (query: string, times: string): string => `query=${encodeURIComponent(query)}&${times}`;
const lagOf = (tenant: string): string => `{tenant="${tenant}",region="eu"}`;
const twoLeaves =
  `avg by (service) (avg_over_time(lag${lagOf("brand-a")}[5m])) / ` +
  `max by (service) (max_over_time(lag${lagOf("brand-a")}[10m]))`;
const rangeOf = (from: number, to: number, step: number): string =>
  `start=${seconds(from)}&end=${seconds(to)}&step=${step}`;
const overMinutes = `sum(avg_over_time(old_lag${lagOf("brand-a")}[5m]))`;
const promql = "/prometheus/api/v1";
/** Of PromQL: the requests of clients, as addresses and as forms. */
const expressions = [
  `${promql}/query_range?${expression(twoLeaves, rangeOf(-3_600, -1_800, 60))}`,
  `${promql}/query_range?${expression('avg(lag{region="eu"})', rangeOf(-600, 120, 15))}`,
  `${promql}/query?${expression(overMinutes, `time=${seconds(-60)}`)}`,
  `POST ${promql}/query_range ${expression(twoLeaves, rangeOf(-600, 60, 60))}`,
  `POST ${promql}/query ${expression(`avg(lag${lagOf("brand-b")})`, `time=${seconds(0)}`)}`,
];
const targets = [
  `${base}&filter[tenant]=brand-a&group_by=service&${fixed}`,
  `${base}&filter[tenant]=brand-a&group_by=service&${fixed}`,
  `${base}&filter[tenant]=brand-b&${fixed}`,
  `${base}&filter[tenant]=brand-a&group_by=service&limit=1&from=${at(-600)}&step=1m`,
  `${base}&filter[tenant]=brand-a&from=${at(-600)}&to=${at(120)}&step=1m`,
  `${base}&filter[tenant]=brand-a&explain=true&${fixed}`,
  `${base.replace("lag", "old_lag")}&filter[tenant]=brand-a&${fixed}`,
  "/v1/metrics/instant?metric=lag&filter[tenant]=brand-a&filter[region]=eu",
  `${base}&filter[tenant]=brand-a&from=${at(-90 * 86_400)}&to=${at(-86_400)}`,
  ...expressions,
];
const explained = 5;

/** A target, of a form with its method before and its body behind. */
function sent(target: string, headers: Readonly<Record<string, string>>): Parameters<MetricsServer["send"]> {
  const [, url, body] = /^POST (\S+) (.*)$/u.exec(target) ?? [];
  if (url === undefined || body === undefined) return [target, { headers }];
  const type = { "content-type": "application/x-www-form-urlencoded" };
  return [url, { method: "POST", headers: { ...headers, ...type }, body }];
}

const asks = fc.record({
  target: fc.oneof(fc.nat(targets.length - 1), fc.constantFrom(0, 3, 6)),
  // One by far the most, so that most was asked before.
  token: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 5, arbitrary: fc.nat(8) }),
  accept: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom("text/csv", "application/x-ndjson", "image/png", "") },
  ),
  coding: fc.constantFrom(undefined, undefined, "gzip", "zstd, gzip;q=0.5"),
});
const uses = fc.record({
  kind: fc.constant("use" as const),
  place: fc.nat(),
  tag: fc.constantFrom("none", "none", "last", "weak", "other", "*"),
  odd: fc.oneof(
    { weight: 12, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        { "content-encoding": "gzip" },
        { "content-encoding": "identity" },
        { dpop: "x" },
        { "x-scope-orgid": "brand-b" },
      ),
    },
  ),
  times: fc.constantFrom(1, 1, 2, 3),
});
/** Mostly short, so that what ends by itself does so while something is kept. */
const waits = fc.record({
  kind: fc.constant("wait" as const),
  ms: fc.oneof(
    { weight: 14, arbitrary: fc.constantFrom(1, 400, 1_000, 3_000, 5_000, 7_000) },
    { weight: 1, arbitrary: fc.constantFrom(30_000, 61_000, keySourceTimes.refreshMs + keySourceTimes.cooldownMs) },
  ),
});
const changes = fc.record({
  kind: fc.constant("change" as const),
  burst: fc.constantFrom(8, 30, 1_000),
  costUnits: fc.constantFrom(100, 1_000_000),
  memorySeconds: fc.constantFrom(0, 10, 60, 60),
  narrowing: fc.constantFrom<Partial<ClientConfig>>(
    {},
    {},
    { tenants: ["brand-b"] },
    { metrics: ["payments"] },
    { environments: ["prod"] },
  ),
  sunset: fc.constantFrom(undefined, 20, 40, 100),
});
const publications = fc.record({
  kind: fc.constant("publish" as const),
  keys: fc.constantFrom([0, 1], [0, 1], [0], [1]),
});
/** Few requests, each of which comes again and again. */
const sequences = fc.record({
  asks: fc.array(asks, { minLength: 1, maxLength: 4 }),
  sunset: fc.constantFrom(20, 40, 100),
  steps: fc.array(
    fc.oneof(
      { weight: 16, arbitrary: uses },
      { weight: 8, arbitrary: waits },
      { weight: 1, arbitrary: changes },
      { weight: 1, arbitrary: publications },
    ),
    { minLength: 20, maxLength: 50 },
  ),
});
type Change = Omit<typeof changes extends fc.Arbitrary<infer T> ? T : never, "kind">;
type Ask = typeof asks extends fc.Arbitrary<infer T> ? T : never;
type Use = Omit<typeof uses extends fc.Arbitrary<infer T> ? T : never, "kind">;

const origin = { uid: "q", namespace: "n", name: "q", generation: 1, specDigest: "" };

function changed(config: RuntimeConfig, { burst, costUnits, memorySeconds, narrowing, sunset }: Change): RuntimeConfig {
  const limits: ClassLimits = {
    ...config.classDefaults.A,
    memorySeconds,
    hotTailSeconds: memorySeconds / 2,
    requestsPerSecond: 1,
    burst,
    burstCostUnits: costUnits,
    costUnitsPerMinute: costUnits,
  };
  const client: ClientConfig = {
    clientId: "one",
    tenants: [],
    regions: [],
    environments: [],
    metrics: [],
    ...narrowing,
  };
  const quota: QuotaConfig = {
    ...origin,
    class: "A",
    limits,
    perMetric: [{ metric: "lag", requestsPerSecond: burst }],
    clients: [client],
  };
  const sunsetAtMs = sunset === undefined ? Date.parse("2026-06-01T00:00:00Z") : startMs + sunset * 1_000;
  const catalogs = config.catalogs.map((catalog) => ({
    ...catalog,
    metrics: catalog.metrics.map((metric) => (metric.id === "old_lag" ? { ...metric, sunsetAtMs } : metric)),
  }));
  return {
    ...config,
    catalogs,
    quotas: Object.keys(narrowing).length === 0 ? [] : [quota],
    classDefaults: { A: limits, B: limits, C: limits },
  };
}

/** One of the two servers. */
interface Side {
  readonly server: MetricsServer;
  readonly registry: Registry;
  readonly outcomes: Pick<RequestOutcome, "method" | "route" | "status">[];
  /** Requests whose token was looked at. */
  looked: number;
}

interface Shared {
  nowMs: number;
  keys: readonly number[];
}

function sideOf(store: ScriptedStore, shared: Shared, isRepeating: boolean): Side {
  const keys = new KeySource(
    async () => ({ keys: shared.keys.flatMap((key) => issuers[key]?.publicJwk ?? []) }),
    () => shared.nowMs,
  );
  const settings = { issuer: name, audiences: ["heliograph"], algorithms: ["ES256"] };
  const verify = createAuthenticate([{ settings, keys }], defaultSettings.claims, () => shared.nowMs);
  const registry = new Registry();
  const side: Side = { server: undefined as unknown as MetricsServer, registry, outcomes: [], looked: 0 };
  const looking = (...given: Parameters<Authenticate>): ReturnType<Authenticate> => {
    side.looked += 1;
    return verify(...given);
  };
  const authenticate =
    isRepeating && verify.isStill !== undefined ? Object.assign(looking, { isStill: verify.isStill }) : looking;
  const observe = ({ method, route, status }: RequestOutcome): void =>
    void side.outcomes.push({ method, route, status });
  const now = (): number => shared.nowMs;
  return Object.assign(side, {
    server: metricsServerOver({ eu: store.url }, { now, elapsed: now, registry, authenticate, observe }),
  });
}

/** Of one request, or of one moment: when the answer left, and how long its steps took. */
const ofRequests = ["date", "connection", "keep-alive"];

function comparable({ status, headers, bytes }: HttpAnswer, target: number): object {
  const isExplained = status === 200 && target === explained;
  const told = Object.entries(headers)
    .filter(([header]) => ![...ofRequests, ...(isExplained ? ["etag", "content-length"] : [])].includes(header))
    .map(([header, value]) => [header, header === "server-timing" ? value.replaceAll(/dur=[\d.]+/gu, "dur") : value]);
  // Explanations tell how long each read took.
  return {
    status,
    headers: Object.fromEntries(told) as unknown,
    body: isExplained ? "explained" : bytes.toString("latin1"),
  };
}

const counters = [
  "heliograph_metrics_queried_total",
  "heliograph_metrics_cost_units_total",
  "heliograph_metrics_cache_points_total",
  "heliograph_cost_units_total",
  "heliograph_store_reads_total",
];

async function counted({ registry, outcomes }: Side): Promise<object> {
  const texts = await Promise.all(counters.map((counter) => registry.getSingleMetricAsString(counter)));
  const durations = await registry.getSingleMetricAsString("heliograph_metrics_request_duration_seconds");
  return { texts, requests: durations.split("\n").filter((line) => line.includes("_count{")), outcomes };
}

function headersOf(
  { token, accept, coding }: Ask,
  id: string,
  ifNoneMatch: string | undefined,
): Readonly<Record<string, string>> {
  return {
    authorization: tokens[token] ?? "",
    "x-correlation-id": id,
    ...(accept === undefined ? {} : { accept }),
    ...(coding === undefined ? {} : { "accept-encoding": coding }),
    ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }),
  };
}

function tagOf(tag: string, last: string): string | undefined {
  return { last, weak: `"a", W/${last}`, other: '"other"', "*": "*" }[tag];
}

describe("requests that come again", () => {
  test("are answered and counted as if they were new, whatever changes in between", { timeout: 120_000 }, async () => {
    const seen = { requests: 0, repeated: 0, notModified: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(sequences, async ({ asks: own, sunset, steps }) => {
        const shared: Shared = { nowMs: startMs, keys: [0, 1] };
        const store = await startScriptedStore(
          healthyProbe(
            simulated(() => ({ services: ["a", "b", "c"], value: (place) => place + shared.nowMs - startMs })),
          ),
        );
        const sides = [sideOf(store, shared, true), sideOf(store, shared, false)] as const;
        const [one, other] = sides;
        const apply = (change: Change): void =>
          sides.forEach(({ server }) => server.apply(changed(server.config, change)));
        apply({ burst: 1_000, costUnits: 1_000_000, memorySeconds: 60, narrowing: {}, sunset });
        let lastTag = '"none"';
        let turn = 0;
        const useOnce = async (ask: Ask, { tag, odd }: Use): Promise<void> => {
          const headers = { ...headersOf(ask, `r${(turn += 1)}`, tagOf(tag, lastTag)), ...odd };
          const target = targets[ask.target] ?? "";
          const answer = await one.server.send(...sent(target, headers));
          expect(comparable(answer, ask.target)).toEqual(
            comparable(await other.server.send(...sent(target, headers)), ask.target),
          );
          if (ask.target !== explained) lastTag = answer.headers["etag"] ?? lastTag;
          seen.notModified += answer.status === 304 ? 1 : 0;
          seen.refused += answer.status >= 400 ? 1 : 0;
        };
        const use = async (step: Use): Promise<void> => {
          const ask = own[step.place % own.length];
          if (ask === undefined) throw new Error("there is nothing to ask");
          for (let time = 0; time < step.times; time += 1) await useOnce(ask, step);
        };
        try {
          for (const step of steps) {
            if (step.kind === "wait") shared.nowMs += step.ms;
            else if (step.kind === "change") apply(step);
            else if (step.kind === "publish") shared.keys = step.keys;
            else await use(step);
          }
        } finally {
          await Promise.all(sides.map(({ server }) => server.close()));
          await store.close();
        }
        expect(await counted(one)).toEqual(await counted(other));
        expect(other.looked).toBe(turn);
        seen.requests += turn;
        seen.repeated += turn - one.looked;
      }),
      { seed: 8, numRuns: 30, endOnFailure: true },
    );
    // Else nothing was tried.
    expect(seen.repeated).toBeGreaterThan(seen.requests / 10);
    expect(seen.notModified).toBeGreaterThan(50);
    expect(seen.refused).toBeGreaterThan(50);
  });
});
