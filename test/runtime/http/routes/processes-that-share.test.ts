import { afterEach, expect, test } from "vitest";
import { nearestPods } from "../../../../runtime/pods/nearest-pods.ts";
import { PodSiblings, type SiblingFrame } from "../../../../runtime/pods/siblings.ts";
import { podsOfATest, type PodsOfATest } from "../../metrics/admission/pods-of-a-test.ts";
import { healthyProbe, startScriptedStore, type ScriptedStore } from "../../stores/scripted-store.ts";
import { metricsServerOver, nowMs, simulated, type MetricsServer } from "./metrics-server.ts";

/** Processes of one pod, each with a metrics API of its own, over one store. */

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const names = ["pod_1", "pod_2", "pod_3", "pod_4"];

interface Processes {
  readonly servers: readonly MetricsServer[];
  readonly store: ScriptedStore;
  readonly nats: PodsOfATest;
}

async function start(): Promise<Processes> {
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["a", "b"] }))));
  closing.push(() => store.close());
  const nats = podsOfATest();
  const siblings = new Map<string, PodSiblings>();
  const servers = names.map((own) => {
    const send = (to: string, frame: SiblingFrame, sent: (error: Error | null) => void): void => {
      siblings.get(to)?.receive(own, structuredClone(frame));
      sent(null);
    };
    const ownSiblings = new PodSiblings(own, names, { send });
    siblings.set(own, ownSiblings);
    ownSiblings.setLive(names);
    const server = metricsServerOver(
      { eu: store.url },
      { now: () => nowMs, pods: nearestPods(nats.join(own), ownSiblings), deadlineMs: 20_000 },
    );
    closing.push(() => server.close());
    const { classDefaults } = server.config;
    const A = { ...classDefaults.A, memorySeconds: 10, distributedSeconds: 30, hotTailSeconds: 5 };
    server.apply({ ...server.config, classDefaults: { ...classDefaults, A } });
    return server;
  });
  return { servers, store, nats };
}

const readsOf = ({ store }: Processes): number =>
  store.requests.filter(({ path, form }) => path.endsWith("query_range") && form.get("query")?.includes("lag") === true)
    .length;

test("50 identical queries over the processes of a pod are one request to the store, without NATS", async () => {
  const processes = await start();
  const { servers, nats } = processes;
  const url =
    "/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-a&group_by=service&step=1m&" +
    "from=2026-01-01T06:00:00Z&to=2026-01-01T09:00:00Z";
  // The stores are probed, and the code has run once.
  await Promise.all(servers.map((server) => server.get(url.replace("lag", "payments").replace("max", "sum"))));
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => (servers[index % servers.length] as MetricsServer).get(url)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
  expect(readsOf(processes)).toBe(1);
  expect(nats.sent()).toBe(0);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(new Set(answers.map(({ headers }) => headers["etag"])).size).toBe(1);
});
