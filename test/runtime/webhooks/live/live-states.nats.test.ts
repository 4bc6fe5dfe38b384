import type { PartnerLive } from "../../../../api/partners.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectNats } from "../../../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { createPodMessages } from "../../../../runtime/nats/messages/pod-messages.ts";
import { ownerOf } from "../../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { partnerServer, type Cleanup } from "../engine-cases.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf } from "../engine-fixture.ts";
import { killWorker, startWorker } from "../fault-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 40_000;
/** The owner has 800 ms to answer; a machine under load adds to that. */
const responseMsMax = 2_500;
const pods = ["pod-1", "pod-2"];
const everyone = { tenants: ["*"] };

/** A partner that the second pod owns. */
const name = Array.from({ length: 64 }, (_, index) => `p-${index}`).find(
  (one) => ownerOf(partnerKey(`uid-of-${one}`), pods) === "pod-2",
);
const label = `default/${name ?? ""}`;

/** Two pods, of which the second is a process of its own. Its partner fails, so that the breaker opens. */
async function twoPods(context: Cleanup, prefix: string) {
  const partner = await partnerServer(context, () => ({ status: 500 }));
  const circuitBreaker = { failures: 2, openMs: 600_000, maxOpenMs: 600_000 };
  const config = configOf(partnerConfig(name ?? "", partner.url, { circuitBreaker }));
  const worker = await startWorker({ url: server.url, prefix, podId: "pod-2", config, hasPeers: true }, (clean) =>
    context.onTestFinished(clean),
  );
  const nats = await connectNats({ servers: [server.url] });
  const peers = createPodMessages(nats, createLayout(prefix), "pod-1");
  const { engine, ingest, stop } = await startEngine(server.url, config, { settings: streamsOf(prefix), peers });
  context.onTestFinished(async () => {
    await stop();
    await peers.stop();
    await nats.drain();
  });
  await waitFor(() => engine.pods.live().length === 2, { timeoutMs, what: "two pods" });
  const live = async (): Promise<PartnerLive> => (await engine.partnerDetails.read(label, everyone)).live;
  const until = (what: string, holds: (view: PartnerLive) => boolean): Promise<PartnerLive> =>
    waitFor(
      async () => {
        const view = await live();
        return holds(view) ? view : undefined;
      },
      { timeoutMs, what },
    );
  await Promise.all(["e-1", "e-2", "e-3"].map((id) => ingest(eventBytes(id))));
  const listed = async () => (await engine.partnerOverview.page({ ...everyone, skipped: 0, limit: 10 })).items[0];
  return { worker, live, until, listed };
}

describe.concurrent("a pod that does not own a partner", () => {
  test("shows the open breaker and the backlog of the owner, and the last known ones once it is gone", async (context) => {
    const { worker, live, until, listed } = await twoPods(context, "lva");
    const open = await until("an open breaker", ({ known, breaker }) => known && breaker === "open");
    expect(Date.parse(open.breaker_until ?? "")).toBeGreaterThan(Date.parse(open.as_of ?? ""));
    const counted = await until("a counted backlog", ({ backlog }) => backlog !== null);
    const row = await waitFor(async () => [await listed()].find((one) => one?.recent?.attempts !== 0), {
      timeoutMs,
      what: "figures of the partner",
    });
    expect(row).toMatchObject({
      partner: label,
      state: "active",
      health: { kind: "circuit_open", reason: expect.stringContaining("consecutive failures") },
      backlog: counted.backlog,
      recent: { success_rate: 0, last_success_at: null },
    });
    expect(Date.parse(row?.health?.since ?? "")).toBeLessThanOrEqual(Date.parse(counted.as_of ?? ""));
    await killWorker(worker);
    const startMs = performance.now();
    const gone = await live();
    expect(performance.now() - startMs).toBeLessThan(responseMsMax);
    expect(gone).toMatchObject({ known: false, breaker: "open", as_of: counted.as_of, backlog: counted.backlog });
    expect(gone.age_seconds).toBeGreaterThan(0);
    const next = await until("an answer of the next owner", ({ known }) => known);
    expect(next.as_of).not.toBe(counted.as_of);
    await until("the breaker, taken over", ({ known, breaker }) => known && breaker === "open");
  });

  test("does not wait for an owner that is silent", async (context) => {
    const { worker, live, until } = await twoPods(context, "lvb");
    const known = await until("an answer of the owner", (view) => view.known);
    worker.kill("SIGSTOP");
    const startMs = performance.now();
    const silent = await live();
    expect(performance.now() - startMs).toBeLessThan(responseMsMax);
    expect(silent).toMatchObject({ known: false, as_of: known.as_of });
  });
});
