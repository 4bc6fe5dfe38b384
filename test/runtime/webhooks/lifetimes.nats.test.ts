import { afterAll, beforeAll, expect, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner } from "../../support/webhook-partner.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf } from "./engine-fixture.ts";

const timeoutMs = 20_000;
const everyone = { client: "support", tenants: ["*"] };
const query = { partner: "default/one", afterSeq: 0, limit: 50 };

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server?.stop());

test("a partner that asks for a week is asked again within its schedule, in the last moment of the event at the latest", async ({
  onTestFinished,
}) => {
  const partner = await startWebhookPartner(({ attempt }) =>
    attempt === 1 ? { status: 429, headers: { "retry-after": "604800" } } : {},
  );
  onTestFinished(() => partner.close());
  const retry = { scheduleSeconds: [1, 600], maxAgeSeconds: 2, jitterPercent: 0 };
  // The pause of the partner ends before the event does.
  const circuitBreaker = { failures: 20, openMs: 500, maxOpenMs: 500 };
  const it = await startEngine(server.url, configOf(partnerConfig("one", partner.url, { retry, circuitBreaker })), {
    settings: streamsOf("week"),
  });
  onTestFinished(it.stop);
  await it.ingest(eventBytes("e-1"));
  const [delivery] = await waitFor(
    async () => {
      const { deliveries = [] } = (await it.engine.history.event("e-1", ["*"])) ?? {};
      return deliveries[0]?.state === "in_delivery" ? undefined : deliveries;
    },
    { timeoutMs, what: "the end of the delivery" },
  );
  expect([delivery?.state, partner.of("e-1").map(({ attempt }) => attempt)]).toEqual(["delivered", [1, 2]]);
});

test("a dead letter goes after the time of its partner, its history stays", async ({ onTestFinished }) => {
  const partner = await startWebhookPartner(() => ({ status: 404 }));
  onTestFinished(() => partner.close());
  const config = configOf(partnerConfig("one", partner.url, { deadLetterSeconds: 2 }));
  const it = await startEngine(server.url, config, { settings: streamsOf("letters") });
  onTestFinished(it.stop);
  await it.ingest(eventBytes("e-1"));
  const letters = async (): Promise<number> => (await it.engine.deadLetters.list(query, everyone)).items.length;
  await waitFor(async () => (await letters()) === 1, { timeoutMs, what: "the dead letter" });
  await waitFor(async () => (await letters()) === 0, { timeoutMs, what: "the end of the dead letter" });
  expect((await it.engine.history.event("e-1", ["*"]))?.deliveries[0]).toMatchObject({
    state: "rejected",
    reason: "status_404",
  });
});
