import { afterEach, expect, test } from "vitest";
import type { ClassLimits } from "../../../../crds/config.ts";
import type { Pods } from "../../../../runtime/pods/pods.ts";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { createPodMessages } from "../../../../runtime/nats/messages/pod-messages.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { metricsServerOver, nowMs, simulated, type MetricsServer } from "../../http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore, type ScriptedStore } from "../../stores/scripted-store.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const layout = createLayout("hg");

async function startNats(): Promise<NatsServerHandle> {
  const nats = await startNatsServer();
  closing.push(() => nats.stop());
  return nats;
}

async function connect({ url }: NatsServerHandle): Promise<NatsConnectionHandle> {
  const handle = await connectNats({ servers: [url] });
  closing.push(() => handle.drain());
  return handle;
}

/** Pods that share quotas and what they read, over one store. */
async function startPods(store: ScriptedStore, own?: NatsServerHandle): Promise<readonly MetricsServer[]> {
  const nats = own ?? (await startNats());
  const names = ["pod-a", "pod-b"];
  const servers: MetricsServer[] = [];
  for (const name of names) {
    const handle = await connect(nats);
    const messages = createPodMessages(handle, layout, name);
    const pods: Pods = { ...messages, own: name, live: () => names };
    const server = metricsServerOver({ eu: store.url }, { now: () => nowMs, pods });
    closing.push(() => server.close());
    const { classDefaults } = server.config;
    const limits: Partial<ClassLimits> = {
      memorySeconds: 10,
      distributedSeconds: 30,
      hotTailSeconds: 5,
      requestsPerSecond: 1_000,
      burst: 1_000,
      maxConcurrent: 1_000,
    };
    server.apply({ ...server.config, classDefaults: { ...classDefaults, A: { ...classDefaults.A, ...limits } } });
    // The probe of the store is no query.
    await waitFor(async () => (await healthOf(server)).stores.every(({ state }) => state === "ok"), {
      timeoutMs: 20_000,
      what: "a probed store",
    });
    servers.push(server);
  }
  return servers;
}

interface Health {
  readonly status: string;
  readonly caches: readonly {
    readonly name: string;
    readonly state: string;
    readonly hit_ratio: number;
    readonly fallback: string;
  }[];
  readonly stores: readonly { readonly state: string }[];
}

const healthOf = async (server: MetricsServer): Promise<Health> =>
  (await server.get("/v1/metrics/health")).json() as Health;

test("50 identical queries over two pods at once are one request to the store (Operational Metrics API §8)", async () => {
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["a", "b"] }))));
  closing.push(() => store.close());
  const pods = await startPods(store);
  const url =
    "/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-a&group_by=service&step=1m&" +
    "from=2026-01-01T06:00:00Z&to=2026-01-01T09:00:00Z";
  const answers = await Promise.all(Array.from({ length: 25 }, () => pods.map((pod) => pod.get(url))).flat());
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
  const data = answers.map(({ json }) => (json() as { readonly data: unknown }).data);
  expect(data.every((one) => JSON.stringify(one) === JSON.stringify(data[0]))).toBe(true);
  const ranges = store.requests.filter(
    ({ path, form }) => path.endsWith("query_range") && form.get("query")?.includes("lag") === true,
  );
  expect(ranges).toHaveLength(1);
  // One pod read all of it, the other had all of it from that one.
  const health = await Promise.all(pods.map(healthOf));
  expect(health.map(({ caches: [, distributed] }) => distributed?.state)).toEqual(["ok", "ok"]);
  expect(health.map(({ caches: [, distributed] }) => distributed?.hit_ratio)).toEqual(expect.arrayContaining([0, 1]));
});

test("health reports the cache of pods as failing within ten seconds of a stopped NATS server", async () => {
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["a"] }))));
  closing.push(() => store.close());
  const nats = await startNats();
  const [pod] = await startPods(store, nats);
  if (pod === undefined) throw new Error("no pod");
  const stateOf = async (): Promise<string | undefined> => (await healthOf(pod)).caches[1]?.state;
  expect(await stateOf()).toBe("ok");
  process.kill(nats.pid, "SIGSTOP");
  closing.push(async () => void process.kill(nats.pid, "SIGCONT"));
  await waitFor(async () => (await stateOf()) === "failing", { timeoutMs: 10_000, what: "a failing cache" });
  process.kill(nats.pid, "SIGCONT");
  await waitFor(async () => (await stateOf()) === "ok", { timeoutMs: 10_000, what: "the cache again" });
});
