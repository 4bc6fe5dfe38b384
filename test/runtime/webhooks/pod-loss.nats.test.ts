import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { connectNats, type NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import { ownerOf } from "../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { startNatsCluster } from "../../support/nats-cluster.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { isSoak } from "../../support/soak.ts";
import { waitFor } from "../../support/wait.ts";
import {
  startWebhookPartner,
  type PartnerAnswer,
  type ReceivedDelivery,
  type WebhookPartnerServer,
} from "../../support/webhook-partner.ts";
import { configOf, partnerConfig, type PartnerOverrides } from "./engine-fixture.ts";
import { idsOf, killWorker, producer, startWorker } from "./fault-fixture.ts";

const timeoutMs = 60_000;
/** Bound on the time for which a healthy partner receives nothing after the loss of the pod that owns its lane. */
const silenceMsMax = 2_000;
/** The same after the loss of a server: followers wait up to 9 s until they elect a leader (nats-server's constant). */
const electionMsMax = 10_000;
const loadPauseMs = 20;
const warmDeliveries = 100;

/** Longest time between two deliveries that began after a time. */
function silenceMs({ received }: WebhookPartnerServer, fromMs: number): number {
  const times = received.map(({ atMs }) => atMs).filter((atMs) => atMs >= fromMs);
  return Math.max(...times.map((atMs, index) => atMs - (times[index - 1] ?? fromMs)));
}

describe.each(isSoak ? [1, 3] : [1])("with %i NATS servers", (size) => {
  let servers: readonly NatsServerHandle[] = [];
  let nats: NatsConnectionHandle;
  beforeAll(async () => {
    const cluster = size === 1 ? undefined : await startNatsCluster(size);
    servers = cluster?.nodes ?? [await startNatsServer()];
    nats = await connectNats({ servers: servers.map(({ url }) => url) });
    return async () => {
      await nats.drain();
      await (cluster ?? servers[0])?.stop();
    };
  });

  /** Three pods and a partner whose lane the first one owns, with events every few milliseconds. */
  async function threePods(
    prefix: string,
    onTestFinished: (clean: () => Promise<void>) => void,
    overrides: PartnerOverrides = {},
    respond?: (delivery: ReceivedDelivery) => PartnerAnswer,
  ) {
    const names = ["pod-1", "pod-2", "pod-3"];
    const uid = idsOf(256).find((id) => ownerOf(partnerKey(id), names) === "pod-1") ?? "";
    const partner = await startWebhookPartner(respond);
    onTestFinished(() => partner.close());
    const config = configOf(partnerConfig("one", partner.url, { uid, ...overrides }));
    const workers = await Promise.all(
      names.map((podId, index) =>
        startWorker({ prefix, config, podId, replicas: size, url: servers[index % size]?.url ?? "" }, onTestFinished),
      ),
    );
    const [owner] = workers;
    if (owner === undefined) throw new Error("no worker");
    const produce = await producer(prefix, nats, size);
    const over = new AbortController();
    const load = (async (): Promise<void> => {
      for (let count = 0; !over.signal.aborted; count += 1) {
        await produce(`load-${count}`);
        await sleep(loadPauseMs);
      }
    })();
    const arrived = (count: number) =>
      waitFor(() => partner.received.length >= count, { timeoutMs, what: `${count} deliveries` });
    await arrived(warmDeliveries);
    const beat = Promise.withResolvers<void>();
    nats.connection.subscribe(`$KV.${createLayout(prefix).buckets.pods}.pod-1`, {
      max: 1,
      callback: () => beat.resolve(),
    });
    await beat.promise;
    const end = async (): Promise<void> => {
      await arrived(partner.received.length + warmDeliveries);
      over.abort();
      await load;
    };
    return { partner, owner, end };
  }

  test("a healthy partner is silent for less than two seconds when its pod is killed right after a heartbeat", async ({
    onTestFinished,
  }) => {
    const { partner, owner, end } = await threePods("loss", onTestFinished);
    const killedAtMs = Date.now();
    await killWorker(owner);
    await end();
    expect(silenceMs(partner, killedAtMs)).toBeLessThan(silenceMsMax);
  });

  test("and when its pod stops, whose requests take as many messages as the partner has places", async ({
    onTestFinished,
  }) => {
    let failures = 0;
    // Retries take a quarter of the places, and attempts straight from events half of the others.
    const delivery = { maxInFlight: 8 };
    const { partner, owner, end } = await threePods("stop", onTestFinished, { delivery }, ({ attempt }) =>
      attempt === 1 && (failures += 1) === 1 ? { status: 503 } : {},
    );
    const stoppedAtMs = Date.now();
    owner.kill("SIGSTOP");
    await end();
    expect(silenceMs(partner, stoppedAtMs)).toBeLessThan(silenceMsMax);
  });

  test.skipIf(size === 1)(
    "a healthy partner is silent for an election when the leader of its consumers stops",
    async ({ onTestFinished }) => {
      const partner = await startWebhookPartner();
      onTestFinished(() => partner.close());
      const config = configOf(partnerConfig("one", partner.url));
      const prefix = "leader";
      const { streams } = createLayout(prefix);
      // The server of the pod is not the one that stops, so its connection stays.
      const [own, ...others] = servers;
      await startWorker({ prefix, config, podId: "pod-1", replicas: size, url: own?.url ?? "" }, onTestFinished);
      const home = await connectNats({ servers: [own?.url ?? ""], followsCluster: false });
      onTestFinished(() => home.drain());
      const produce = await producer(prefix, home, size);
      await produce("first");
      await waitFor(() => partner.received.length > 0, { timeoutMs, what: "the first delivery" });
      const [stopped] = others;
      if (stopped === undefined) throw new Error("no server");
      const leaderOf = async () => (await home.manager.consumers.info(streams.events, "router")).cluster?.leader;
      await waitFor(
        async () => {
          if ((await leaderOf()) === "n1") return true;
          await home.requests.request(`$JS.API.CONSUMER.LEADER.STEPDOWN.${streams.events}.router`, "");
          return false;
        },
        { timeoutMs, pollMs: 500, what: "the second server to lead the router" },
      );
      process.kill(stopped.pid, "SIGSTOP");
      onTestFinished(() => void process.kill(stopped.pid, "SIGCONT"));
      const stoppedAtMs = Date.now();
      const over = new AbortController();
      const load = (async (): Promise<void> => {
        for (let count = 0; !over.signal.aborted; count += 1) {
          await produce(`load-${count}`).catch(() => undefined);
          await sleep(loadPauseMs);
        }
      })();
      await waitFor(() => partner.received.length > warmDeliveries, { timeoutMs, what: "deliveries" });
      over.abort();
      await load;
      expect(silenceMs(partner, stoppedAtMs)).toBeLessThan(electionMsMax);
    },
  );
});
