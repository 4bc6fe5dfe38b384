import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import { routingMax } from "../../../runtime/nats/streams/events-stream.ts";
import { ownerOf } from "../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { startNatsCluster } from "../../support/nats-cluster.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { isSoak } from "../../support/soak.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../support/webhook-partner.ts";
import type { Cleanup } from "./engine-cases.ts";
import { configOf, partnerConfig } from "./engine-fixture.ts";
import { idsOf, produceAll, producer, startWorker, untilDrained } from "./fault-fixture.ts";

const timeoutMs = 90_000;
/** Longer than the acknowledgement wait, and than a pod without a heartbeat counts as live. */
const stallsMs = isSoak ? [4_000, 30_000, 60_000] : [4_000];
const serverCounts = isSoak ? [1, 3] : [1];
/** The servers of the cases that run, which all keep a copy of each stream. */
let servers: readonly NatsServerHandle[] = [];
let nats: NatsConnectionHandle;

const maxInFlight = 8;
const replyMs = 30;
/** Fewer events than the places of the partner take. */
const loadPauseMs = 20;
/** Between the last answer of the partner and the record of it. */
const recordMs = 500;

interface Case {
  readonly partner: WebhookPartnerServer;
  /** Owns the lane of the partner. */
  readonly owner: ChildProcess;
  readonly prefix: string;
  readonly produce: (id: string) => Promise<unknown>;
  /** Most requests that the partner had open at once since the last call. */
  readonly mostOpen: () => number;
}

let cases = 0;

async function caseOf(pods: number, { onTestFinished }: Cleanup): Promise<Case> {
  cases += 1;
  const prefix = `stall${cases}`;
  const names = Array.from({ length: pods }, (_, index) => `pod-${index + 1}`);
  const uid = idsOf(256).find((id) => ownerOf(partnerKey(id), names) === "pod-1") ?? "";
  let [open, most] = [0, 0];
  const partner = await startWebhookPartner(async () => {
    open += 1;
    most = Math.max(most, open);
    await sleep(replyMs);
    open -= 1;
    return {};
  });
  onTestFinished(() => partner.close());
  const config = configOf(partnerConfig("one", partner.url, { uid, delivery: { maxInFlight } }));
  const order = { prefix, config, replicas: servers.length };
  const workers = await Promise.all(
    names.map((podId, index) =>
      startWorker({ ...order, podId, url: servers[index % servers.length]?.url ?? "" }, onTestFinished),
    ),
  );
  const [owner] = workers;
  if (owner === undefined) throw new Error("no worker");
  const mostOpen = (): number => {
    const before = most;
    most = open;
    return before;
  };
  return { partner, owner, prefix, produce: await producer(prefix, nats, servers.length), mostOpen };
}

/** Attempts that came more than once, whose first request did not come right before the stall. */
function doubledSince({ received }: WebhookPartnerServer, stalledAtMs: number): readonly string[] {
  const firstAtMs = new Map<string, number>();
  const doubled: string[] = [];
  for (const { eventId, attempt, atMs } of received) {
    const key = `${eventId}:${attempt}`;
    const first = firstAtMs.get(key);
    firstAtMs.set(key, first ?? atMs);
    if (first !== undefined && !(first > stalledAtMs - recordMs && first < stalledAtMs + recordMs)) doubled.push(key);
  }
  return doubled;
}

const arrived = ({ partner }: Case, ids: readonly string[]): Promise<unknown> =>
  waitFor(() => ids.every((id) => partner.of(id).length > 0), { timeoutMs, what: ids.join() });

describe.each(serverCounts)("with %i NATS servers", (size) => {
  beforeAll(async () => {
    const cluster = size === 1 ? undefined : await startNatsCluster(size);
    servers = cluster?.nodes ?? [await startNatsServer()];
    nats = await connectNats({ servers: servers.map(({ url }) => url) });
    return async () => {
      await nats.drain();
      await (cluster ?? servers[0])?.stop();
    };
  });

  describe.each(stallsMs)("a pod that stands still for %i ms", (stallMs) => {
    test.concurrent.for([2, 3])(
      "with nothing under way sends nothing that another of %i pods has sent",
      async (pods, context) => {
        const it = await caseOf(pods, context);
        // So many that the pods believe what the server counts.
        const before = Array.from({ length: routingMax + 2 * maxInFlight }, (_, index) => `before-${index}`);
        await produceAll(before, it.produce);
        await arrived(it, before);
        await untilDrained(nats, it.prefix, timeoutMs);
        it.mostOpen();
        it.owner.kill("SIGSTOP");
        const during = idsOf(24);
        const stalled = sleep(stallMs);
        await Promise.all(during.map(it.produce));
        await stalled;
        it.owner.kill("SIGCONT");
        const after = idsOf(32).slice(during.length);
        for (const id of after) await it.produce(id);
        await arrived(it, after);
        await untilDrained(nats, it.prefix, timeoutMs);
        const counts = new Set([...before, ...during, ...after].map((id) => it.partner.of(id).length));
        expect([...counts]).toEqual([1]);
        expect(it.mostOpen()).toBeLessThanOrEqual(maxInFlight);
      },
    );

    test.concurrent("under load repeats only attempts that were under way, within maxInFlight", async (context) => {
      const it = await caseOf(2, context);
      const ids: string[] = [];
      const over = new AbortController();
      const load = (async (): Promise<void> => {
        for (let count = 0; !over.signal.aborted; count += 1) {
          const id = `load-${count}`;
          ids.push(id);
          await it.produce(id);
          await sleep(loadPauseMs);
        }
      })();
      await waitFor(() => it.partner.received.length > 50, { timeoutMs, what: "load" });
      // Messages wait in the pod for a place.
      const burst = Array.from({ length: 100 }, (_, index) => `burst-${index}`);
      await Promise.all(burst.map(it.produce));
      it.owner.kill("SIGSTOP");
      const stalledAtMs = Date.now();
      await sleep(stallMs);
      it.mostOpen();
      it.owner.kill("SIGCONT");
      const resumedWith = it.partner.received.length;
      await waitFor(() => it.partner.received.length > resumedWith + 100, { timeoutMs, what: "load after the stall" });
      over.abort();
      await load;
      await arrived(it, [...ids, ...burst]);
      await untilDrained(nats, it.prefix, timeoutMs);
      expect(doubledSince(it.partner, stalledAtMs)).toEqual([]);
      expect(it.mostOpen()).toBeLessThanOrEqual(maxInFlight);
      expect(it.partner.received.length).toBeLessThanOrEqual(ids.length + burst.length + maxInFlight);
    });
  });
});
