import { afterEach, describe, expect, test } from "vitest";
import type { StoreReply } from "../../stores/scripted-store.ts";
import { simulated, startMetricsServer, type HttpAnswer, type ScriptedMetricsServer } from "./metrics-server.ts";

/** A dashboard that polls a settled window for an hour, and pays for its bytes once. */

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

interface Polling {
  readonly state: { nowMs: number; offset: number };
  /** Asks the pods in turn. */
  readonly poll: (url: string, headers?: Readonly<Record<string, string>>) => Promise<HttpAnswer>;
  /** Queries that stores were sent. */
  readonly reads: () => number;
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
  for (const server of servers) {
    const { classDefaults } = server.config;
    server.apply({ ...server.config, classDefaults: { ...classDefaults, A: { ...classDefaults.A, ...limits } } });
  }
  let turns = 0;
  return {
    state,
    poll: (url, headers = {}) =>
      (servers[turns++ % servers.length] as ScriptedMetricsServer).get(url, {
        authorization: "Bearer everyone",
        ...headers,
      }),
    reads: () =>
      servers
        .flatMap(({ stores }) => stores.flatMap(({ requests }) => requests))
        .filter(({ path }) => path.includes("query")).length,
  };
}

describe.each(Object.entries(polled))(
  "a poller of a settled %s (Operational Metrics API §6, If-None-Match)",
  (_name, url) => {
    test("gets 304 for an hour from every pod, over recomputations, until the data changes", async () => {
      const { state, poll, reads } = await start();
      const first = await poll(url);
      const etag = String(first.headers["etag"]);
      expect([first.status, etag]).toEqual([200, expect.stringMatching(/^"[\w-]{22}"$/u)]);
      const before = reads();
      const polls = Array.from({ length: hourMs / pollMs }, (_, index) => `poll-${index}`);
      const answers: HttpAnswer[] = [];
      for (const id of polls) {
        state.nowMs += pollMs;
        answers.push(await poll(url, { "if-none-match": etag, "x-correlation-id": id }));
      }
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([304]));
      expect(answers.map(({ headers }) => headers["x-correlation-id"])).toEqual(polls);
      // The answers were computed again and again meanwhile.
      expect(reads() - before).toBeGreaterThan(hourMs / 60_000);
      state.offset = 1;
      state.nowMs += 60_000;
      const changed = await poll(url, { "if-none-match": etag });
      expect([changed.status, changed.headers["etag"] === etag]).toEqual([200, false]);
    });
  },
);
