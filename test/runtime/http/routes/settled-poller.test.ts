import { afterEach, describe, expect, test } from "vitest";
import type { StoreReply } from "../../stores/scripted-store.ts";
import { simulated, startMetricsServer, type ScriptedMetricsServer } from "./metrics-server.ts";

/** A dashboard that polls a settled window for an hour, and pays for its bytes once (wire, "Metrics"). */

const startMs = Date.parse("2026-01-01T12:00:00Z");
const hourMs = 3_600_000;
const pollMs = 20_000;
const settled = "metric=lag&agg=max&filter[tenant]=brand-a&filter[region]=eu&group_by=service";
const polled = {
  query: `/v1/metrics/query?${settled}&from=2026-01-01T09:00:00Z&to=2026-01-01T10:00:00Z&step=1m`,
  instant: `/v1/metrics/instant?${settled}&ts=2026-01-01T10:00:00Z`,
} as const;
/** Settled points are served from memory for 30 s, and no client of these tests runs out of requests. */
const limits = { memorySeconds: 30, hotTailSeconds: 5, requestsPerSecond: 1_000, burst: 1_000 };

const authorized = (more: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({ authorization: "Bearer everyone", ...more });

interface Polling {
  readonly servers: readonly ScriptedMetricsServer[];
  readonly state: { nowMs: number; offset: number };
  /** Range queries that stores were sent. */
  reads(): number;
}

const closing: ScriptedMetricsServer[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()));
});

/** Two pods that share nothing but what they are asked. */
async function start(): Promise<Polling> {
  const state = { nowMs: startMs, offset: 0 };
  const store = simulated(() => ({ services: ["a", "b"], value: (service) => service + state.offset }));
  const reply: StoreReply = (response, request) => store(response, request);
  const servers = await Promise.all([1, 2].map(() => startMetricsServer({ eu: reply }, { now: () => state.nowMs })));
  closing.push(...servers);
  for (const { config, apply } of servers) apply({ ...config, classDefaults: { ...config.classDefaults, A: { ...config.classDefaults.A, ...limits } } });
  const reads = (): number => servers.flatMap(({ stores }) => stores.flatMap(({ requests }) => requests)).filter(({ path }) => path.includes("query")).length;
  return { servers, state, reads };
}

describe.each(Object.entries(polled))("a poller of a settled %s (Operational Metrics API §6, If-None-Match)", (_name, url) => {
  test("gets 304 for an hour from every pod, over recomputations, until the data changes", async () => {
    const { servers, state, reads } = await start();
    const first = await servers[0]?.get(url);
    const etag = first?.headers.etag ?? "";
    expect([first?.status, etag]).toEqual([200, expect.stringMatching(/^"[\w-]{22}"$/u)]);
    const before = reads();
    const statuses = new Map<number, number>();
    for (let polls = 0; state.nowMs < startMs + hourMs; polls += 1) {
      state.nowMs += pollMs;
      const headers = authorized({ "if-none-match": etag, "x-correlation-id": `poll-${polls}` });
      const answer = await servers[polls % servers.length]?.get(url, headers);
      expect(answer?.headers["x-correlation-id"]).toBe(`poll-${polls}`);
      statuses.set(answer?.status ?? 0, (statuses.get(answer?.status ?? 0) ?? 0) + 1);
    }
    expect([...statuses]).toEqual([[304, hourMs / pollMs]]);
    // The answers were computed again and again meanwhile.
    expect(reads() - before).toBeGreaterThan(hourMs / 60_000);
    state.offset = 1;
    state.nowMs += 60_000;
    const changed = await servers[0]?.get(url, authorized({ "if-none-match": etag }));
    expect([changed?.status, changed?.headers.etag === etag]).toEqual([200, false]);
  });
});
