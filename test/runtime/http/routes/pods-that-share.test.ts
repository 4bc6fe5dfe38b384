import { afterEach, expect, test } from "vitest";
import { podsOfATest, type PodsOfATest } from "../../metrics/admission/pods-of-a-test.ts";
import { healthyProbe, startScriptedStore, type ScriptedStore } from "../../stores/scripted-store.ts";
import { metricsServerOver, nowMs, simulated, type MetricsServer } from "./metrics-server.ts";

/** Pods, each with a metrics API, over one store. */

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const names = ["one", "two", "three", "four"];

interface Installation {
  readonly servers: readonly MetricsServer[];
  readonly store: ScriptedStore;
  readonly nats: PodsOfATest;
}

async function start(): Promise<Installation> {
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["a", "b"] }))));
  closing.push(() => store.close());
  const nats = podsOfATest();
  const servers = names.map((own) => {
    const server = metricsServerOver({ eu: store.url }, { now: () => nowMs, pods: nats.join(own), deadlineMs: 20_000 });
    closing.push(() => server.close());
    const { classDefaults } = server.config;
    const A = { ...classDefaults.A, memorySeconds: 10, distributedSeconds: 30, hotTailSeconds: 5 };
    server.apply({ ...server.config, classDefaults: { ...classDefaults, A } });
    return server;
  });
  return { servers, store, nats };
}

const readsOf = ({ store }: Installation): number =>
  store.requests.filter(({ path, form }) => path.endsWith("query_range") && form.get("query")?.includes("lag") === true)
    .length;

test("50 identical queries over four pods are one request to the store", async () => {
  const installation = await start();
  const { servers, nats } = installation;
  const url =
    "/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-a&group_by=service&step=1m&" +
    "from=2026-01-01T06:00:00Z&to=2026-01-01T09:00:00Z";
  // The stores are probed, and the code has run once.
  await Promise.all(servers.map((server) => server.get(url.replace("lag", "payments").replace("max", "sum"))));
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => (servers[index % servers.length] as MetricsServer).get(url)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
  expect(readsOf(installation)).toBe(1);
  expect(nats.sent()).toBeGreaterThan(0);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(new Set(answers.map(({ headers }) => headers["etag"])).size).toBe(1);
});
