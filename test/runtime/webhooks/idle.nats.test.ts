import { afterAll, beforeAll, expect, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import { engineCase } from "./engine-cases.ts";
import { configOf, partnerConfig } from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 60_000;
const partnerCount = 50;
const lookMs = 6_000;
/**
 * Heartbeats of the pod with what they read, sizes, replays, and the list of streams: about fourteen. A message for
 * each partner would be 50 more.
 */
const messagesASecondMax = 25;

test("an engine that has nothing to do sends a few messages a second, however many partners it has", async (context) => {
  const partners = Array.from({ length: partnerCount }, (_, n) =>
    partnerConfig(`p${n}`, "http://127.0.0.1:9/webhooks/v1/x"),
  );
  // The end of a take-over changes each consumer once.
  const { nats, layout } = await engineCase(server.url, context, configOf(...partners));
  const stats = (): { readonly inMsgs: number; readonly outMsgs: number } => nats.connection.stats();
  const consumers = async (): Promise<number> =>
    (await nats.manager.streams.info(layout.streams.deliveries)).state.consumer_count;
  const known = async (): Promise<number> =>
    (await nats.manager.streams.info(`KV_${layout.buckets.partners}`)).state.messages;
  await waitFor(async () => (await consumers()) === partnerCount && (await known()) === partnerCount, {
    timeoutMs,
    what: "every partner",
  });
  const startedAtMs = performance.now();
  const before = stats();
  await waitFor(() => performance.now() - startedAtMs >= lookMs, { timeoutMs, what: "the end of the look" });
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const after = stats();
  expect((after.outMsgs - before.outMsgs) / seconds).toBeLessThan(messagesASecondMax);
  expect((after.inMsgs - before.inMsgs) / seconds).toBeLessThan(2 * messagesASecondMax);
});
