import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { heldBytes } from "../../bench/harness/held-bytes.ts";
import { mebibyteBytes } from "../../../limits/memory-plan.ts";
import { metricsServerOver } from "../http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore, success } from "../stores/scripted-store.ts";

const [endMs, minuteMs, seriesCount] = [Date.UTC(2026, 0, 15), 60_000, 10];
const mebibytes = { points: 1, finished: 1, responses: 3 };
const caches = {
  points: mebibytes.points * mebibyteBytes,
  finished: mebibytes.finished * mebibyteBytes,
  responses: mebibytes.responses * mebibyteBytes,
  snapshots: 0,
  repeats: 0,
};

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

test.each([
  ["long", 180, 60],
  ["short", 10, 250],
])("caches full of %s windows hold what their bounds say", async (_name, points, queries) => {
  const newest = success({ resultType: "vector", result: [{ metric: {}, value: [0, String(endMs / 1_000)] }] });
  const store = await startScriptedStore(
    healthyProbe((response, asked) => {
      if (asked.path.endsWith("/query")) return newest(response, asked);
      const startSeconds = Number(asked.form.get("start"));
      const values = Array.from({ length: points }, (_, place) => [startSeconds + place * 60, `${place}.25`]);
      const result = Array.from({ length: seriesCount }, (_, place) => ({ metric: { service: `s${place}` }, values }));
      return success({ resultType: "matrix", result })(response, asked);
    }),
  );
  const server = metricsServerOver(
    { eu: store.url },
    { now: () => endMs, deadlineMs: 20_000, caches, isRepeated: false },
  );
  const { config } = server;
  const limits = { ...config.classDefaults.A, memorySeconds: 60, hotTailSeconds: 60 };
  server.apply({ ...config, classDefaults: { ...config.classDefaults, A: limits } });
  const read = async (count: number, first: number): Promise<void> => {
    for (let place = first; place < first + count; place += 1) {
      const toMs = endMs - place * points * minuteMs;
      const window = `from=${new Date(toMs - points * minuteMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
      // Each query has its own key in every cache.
      const path = `/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-a&filter[service]=s${place}`;
      const { status } = await server.get(`${path}&group_by=service&${window}&step=1m`);
      expect(status).toBe(200);
    }
    (store.requests as unknown[]).length = 0;
  };
  // The first reads compile code, and fill the caches.
  await read(queries, 0);
  const full = await heldBytes();
  await read(queries, queries);
  expect((await heldBytes()) - full).toBeLessThan(mebibyteBytes);
  // They were not used for five minutes. The program itself stays.
  vi.advanceTimersByTime(300_000);
  const held = full - (await heldBytes());
  expect(held / mebibyteBytes).toBeGreaterThan(2);
  expect(held / mebibyteBytes).toBeLessThan(mebibytes.points + mebibytes.finished + mebibytes.responses);
  await server.close();
  await store.close();
});
