import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClassLimits, ClientConfig, MetricConfig, QuotaConfig, RuntimeConfig } from "../../../crds/config.ts";
import { ApiError } from "../../../runtime/errors/api-error.ts";
import { createMetricsApi } from "../../../runtime/metrics/api/create-metrics-api.ts";
import type { Caller } from "../../../runtime/metrics/authorization/access.ts";
import type { MetricsApi } from "../../../runtime/metrics/metrics-api.ts";
import {
  healthyProbe,
  type ScriptedStore,
  startScriptedStore,
  type StoreReply,
  success,
} from "../stores/scripted-store.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "./oracle/universe.ts";

/**
 * Rights change while caches are warm. What a warm cache answers is compared with what an empty one would: the same
 * data, or the same refusal, from the very next request on. Stores answer with a number that is made of the query they
 * were sent, and of the store, so that data of a wider or of another query would be seen.
 */

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const regions = ["eu", "latam"] as const;
const tenants = ["brand-a", "brand-b"] as const;
const environments = ["prod", "dev"] as const;
const ids = ["lag", "payouts"] as const;
const cachedLimits = { ...wideLimits, memorySeconds: 60, hotTailSeconds: 30 };
const origin = { uid: "q", namespace: "n", name: "q", generation: 1, specDigest: "" };

let stores: readonly ScriptedStore[] = [];

beforeAll(async () => {
  stores = await Promise.all(regions.map((region) => startScriptedStore(healthyProbe(fingerprint(region)))));
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
});

/** A number that only this query to this store has. */
function fingerprint(region: string): StoreReply {
  return (response, request) => {
    const query = request.form.get("query") ?? "";
    if (request.path.endsWith("/query")) {
      return success({ resultType: "vector", result: [{ metric: {}, value: [0, String(nowMs / 1000 - 10)] }] })(
        response,
        request,
      );
    }
    const value = String(crc32(region + query));
    const [start, end, step] = ["start", "end", "step"].map((name) => Number(request.form.get(name))) as [
      number,
      number,
      number,
    ];
    const values = Array.from({ length: Math.round((end - start) / step) + 1 }, (_, index) => [
      start + index * step,
      value,
    ]);
    return success({ resultType: "matrix", result: [{ metric: {}, values }] })(response, request);
  };
}

/** What an installation allows at one moment. */
interface Rights {
  readonly narrowings: readonly ClientConfig[];
  /** Metrics whose reader needs a role. */
  readonly sensitive: readonly string[];
  /** Metrics that may be read over both regions at once. */
  readonly scoped: readonly string[];
  readonly offered: readonly string[];
}

function configFor(
  { narrowings, sensitive, scoped, offered }: Rights,
  limits: ClassLimits = cachedLimits,
): RuntimeConfig {
  const configs = regions.map((region, index) => storeConfig({ name: region, region, url: stores[index]?.url ?? "" }));
  const metrics = offered.map((id): MetricConfig => {
    const { complianceScope: whole, ...metric } = metricConfig(id, configs, {
      source: { kind: "gauge", name: id, matchers: [] },
    });
    return {
      ...metric,
      ...(scoped.includes(id) && whole !== undefined ? { complianceScope: whole } : {}),
      ...(sensitive.includes(id) ? { sensitivity: "finance", requiredRole: "finance-reader" } : {}),
    };
  });
  const quota: QuotaConfig = { ...origin, class: "A", limits, perMetric: [], clients: narrowings };
  return { ...configOf(configs, metrics), quotas: [quota], classDefaults: { A: limits, B: limits, C: limits } };
}

const some = <T>(all: readonly T[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant<readonly T[]>(["*" as T]) },
    { weight: 1, arbitrary: fc.subarray([...all], { minLength: 1 }) },
  );
const narrowed = <T>(all: readonly T[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant<T[]>([]) },
    { weight: 1, arbitrary: fc.subarray([...all], { minLength: 1 }) },
  );
const clientNames = ["one", "two"] as const;

const rightsOf = fc.record({
  narrowings: fc.array(
    fc.record({
      clientId: fc.constantFrom(...clientNames),
      tenants: narrowed(tenants),
      regions: narrowed(regions),
      environments: narrowed(environments),
      metrics: narrowed(ids),
    }),
    { maxLength: 2 },
  ),
  sensitive: fc.subarray([...ids]),
  scoped: fc.subarray([...ids], { minLength: 1 }),
  offered: fc.oneof(
    { weight: 4, arbitrary: fc.constant([...ids]) },
    { weight: 1, arbitrary: fc.subarray([...ids], { minLength: 1 }) },
  ),
});
/** As tokens say it, which can change from request to request too. */
const callers = fc.record({
  client: fc.constantFrom(...clientNames),
  tenants: some(tenants),
  regions: some(regions),
  environments: some(environments),
  metrics: some(ids),
  roles: fc.subarray(["finance-reader"]),
  scopes: fc.oneof(
    { weight: 9, arbitrary: fc.constant(["metrics:read"]) },
    { weight: 1, arbitrary: fc.constant(["events:write"]) },
  ),
});
const asks = fc.record({
  kind: fc.constant("ask" as const),
  caller: callers,
  metric: fc.constantFrom(...ids),
  // Few questions, so that most were asked before by somebody.
  tenant: fc.constantFrom("brand-a", "brand-a", "brand-b"),
  region: fc.constantFrom("eu", "eu", "latam", undefined),
  environment: fc.constantFrom(undefined, undefined, "prod"),
});
const changes = fc.record({ kind: fc.constant("change" as const), rights: rightsOf });
const sequences = fc.array(fc.oneof({ weight: 8, arbitrary: asks }, { weight: 1, arbitrary: changes }), {
  minLength: 40,
  maxLength: 60,
});
type Ask = Omit<typeof asks extends fc.Arbitrary<infer T> ? T : never, "caller"> & { readonly caller: Caller };

/** What is answered, without what says when and by whom: the refusal's code, or regions and points. */
async function outcomeOf(api: MetricsApi, { caller, metric, tenant, region, environment }: Ask): Promise<string> {
  const pairs: (readonly [string, string])[] = [
    ["metric", metric],
    ["filter[tenant]", tenant],
    ["from", "2026-01-01T11:50:00Z"],
    ["to", "2026-01-01T11:55:00Z"],
    ["step", "1m"],
    ...(region === undefined ? [] : [["filter[region]", region] as const]),
    ...(environment === undefined ? [] : [["filter[environment]", environment] as const]),
  ];
  const full: Caller = { ...everyone, ...caller };
  try {
    const { status, body } = await api.query(parameters(pairs), full, new AbortController().signal, {
      correlationId: "c",
      nowMs,
    });
    const { data, meta } = body as { readonly data: unknown; readonly meta: { readonly regions: unknown } };
    return JSON.stringify({ status, data, regions: meta.regions });
  } catch (error) {
    if (error instanceof ApiError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const open: Rights = { narrowings: [], sensitive: [], scoped: ids, offered: ids };
const quiet = { warn: () => undefined };
const asked = (): number =>
  stores.reduce((sum, store) => sum + store.requests.filter(({ path }) => path.endsWith("/query_range")).length, 0);
const start = (config: RuntimeConfig): MetricsApi => createMetricsApi({ config, log: quiet, now: () => nowMs });

describe("rights that change while caches are warm", () => {
  test(
    "hold from the very next request on: what is answered is what an empty cache would answer",
    { timeout: 60_000 },
    async () => {
      const counts = { answered: 0, refused: 0, fromCache: 0 };
      await fc.assert(
        fc.asyncProperty(sequences, async (sequence) => {
          const warm = start(configFor(open));
          // Keeps nothing, by the limits of its classes.
          const cold = start(configFor(open, wideLimits));
          try {
            for (const step of sequence) {
              if (step.kind === "change") {
                warm.apply(configFor(step.rights));
                cold.apply(configFor(step.rights, wideLimits));
                continue;
              }
              const before = asked();
              const outcome = await outcomeOf(warm, step);
              const isAnswer = outcome.startsWith("{");
              counts[isAnswer ? "answered" : "refused"] += 1;
              if (isAnswer && asked() === before) counts.fromCache += 1;
              expect(outcome).toBe(await outcomeOf(cold, step));
            }
          } finally {
            await Promise.all([warm.stop(), cold.stop()]);
          }
        }),
        { seed: 5, numRuns: 8 },
      );
      // Else nothing was tried.
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(20);
    },
  );
});

describe("cached data", () => {
  const ask: Ask = {
    kind: "ask",
    caller: { ...everyone, client: "one", tenants: ["*"], roles: [], scopes: ["metrics:read"] },
    metric: "lag",
    tenant: "brand-a",
    region: "eu",
    environment: undefined,
  };
  const as = (caller: Partial<Caller>): Ask => ({ ...ask, caller: { ...ask.caller, ...caller } });

  test.each([
    ["another client", { client: "two" }, true],
    ["tenants that come to the same one", { tenants: ["brand-a"] }, true],
    ["regions that come to the same one", { regions: ["eu"] }, true],
    ["metrics that come to the same one", { metrics: ["lag"] }, true],
    ["a role that the metric does not need", { roles: ["finance-reader"] }, true],
    ["environments that narrow what is read", { environments: ["prod"] }, false],
    ["environments that narrow it otherwise", { environments: ["dev", "prod"] }, false],
  ] as const)(
    "is shared by callers whose rights come to the same, and by no others: %s",
    async (_name, caller, isShared) => {
      const api = start(configFor(open));
      try {
        const first = await outcomeOf(api, ask);
        const before = asked();
        const second = await outcomeOf(api, as(caller));
        expect([asked() === before, second === first]).toEqual([isShared, isShared]);
      } finally {
        await api.stop();
      }
    },
  );
});
