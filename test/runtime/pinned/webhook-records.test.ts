import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createAttemptsStream } from "../../../runtime/nats/streams/attempts-stream.ts";
import { createDeadLettersStream } from "../../../runtime/nats/streams/dead-letters-stream.ts";
import { createDeliveriesStream } from "../../../runtime/nats/streams/deliveries-stream.ts";
import { createEventsStream } from "../../../runtime/nats/streams/events-stream.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { createReplaysStream } from "../../../runtime/nats/streams/replays-stream.ts";
import type { StoredMessage } from "../../../runtime/nats/messages/stored-messages.ts";
import { attemptRecord, parseAttempts } from "../../../runtime/webhooks/records/attempt-records.ts";
import { deadLetterOf, unreadableDeadLetter } from "../../../runtime/webhooks/records/dead-letter-record.ts";
import type { DeliveryContext } from "../../../runtime/webhooks/delivery/delivery-context.ts";
import {
  deliveryHeaders,
  deliveryMessage,
  parseDeliveryRecord,
  type DeliveryRecord,
} from "../../../runtime/webhooks/records/delivery-record.ts";
import { createDeliveryMetrics, createPartnerMetrics } from "../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { endUnsent } from "../../../runtime/webhooks/delivery/apply-settlement.ts";
import { EventIdTaken, createTakenIds } from "../../../runtime/webhooks/ingest/event-ids.ts";
import { historyBytes, standingsOf } from "../../../runtime/webhooks/history/history.ts";
import { deliveryId, eventHash, partnerKey } from "../../../runtime/webhooks/ids.ts";
import {
  createOperationalEvents,
  type OperationalDeps,
} from "../../../runtime/webhooks/delivery/operational-events.ts";
import type { AttemptOutcome } from "../../../runtime/webhooks/settlement/outcome.ts";
import { compilePartners } from "../../../runtime/webhooks/partners/partner.ts";
import { createDeadLettersApi, type DeadLetterDeps } from "../../../runtime/webhooks/replay/dead-letters-api.ts";
import type { SentRequest } from "../../../runtime/webhooks/records/sent-request.ts";
import { storeRoutingNote } from "../../../runtime/webhooks/routing/missing-steps.ts";
import { keepSignature, type KeptSignature } from "../../../runtime/webhooks/signing/signed-request.ts";
import { settle, type Settlement } from "../../../runtime/webhooks/settlement/settle.ts";
import { eventHeaders, readEvent } from "../../../runtime/webhooks/records/event-record.ts";
import { readEventIdUse } from "../../../runtime/webhooks/history/event-reads.ts";
import { createDeliverySpans } from "../../../runtime/webhooks/telemetry/delivery-spans.ts";
import { configOf, memoryLog, partnerConfig } from "../webhooks/engine-fixture.ts";
import { readPinned } from "./pinned-text.ts";
import { nowMs, recordingNats, textsOf } from "./recording-nats.ts";

/** What pods keep in the streams: written with these bytes, and read from them. */

const file = "webhook-records.txt";
const nats = recordingNats();
const layout = createLayout("hg");
const [partner] = compilePartners(
  configOf(partnerConfig("one", "https://one.example/hooks", { uid: "uid-1", deadLetterSeconds: 600 })),
  [],
);
if (partner === undefined) throw new Error("no partner");
const own = { ...partner, config: { ...partner.config, specDigest: "spec-1" } };
const body = Buffer.from('{"event_id":"e-1"}');
const delivery: DeliveryRecord = {
  did: deliveryId("acme", "e-1", "uid-1"),
  partner: partnerKey("uid-1"),
  tenant: "acme",
  eventId: "e-1",
  type: "payout.processed",
  producer: "ledger",
  acceptedAtMs: nowMs - 1_000,
  generation: 2,
  attempt: 3,
  hop: 1,
  attemptsBefore: 4,
  replayId: "r-1",
  routedBy: "c=00ff00ff00ff00ff;g=7",
};
const first: DeliveryRecord = {
  did: delivery.did,
  partner: delivery.partner,
  tenant: "acme",
  eventId: "e-1",
  type: "payout.processed",
  acceptedAtMs: nowMs - 1_000,
  generation: 0,
  attempt: 1,
  hop: 0,
  attemptsBefore: 0,
};
const timings = { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4.5, totalMs: 12.25 };
const headers = { "content-type": "text/plain", "retry-after": "7", "x-trace-id": "t-1", server: "left out" };
const answered = (status: number): AttemptOutcome => {
  return { kind: "response", status, headers, body: "no", bodyTruncated: false, timings };
};
const failed: AttemptOutcome = { kind: "failure", reason: "connect", detail: "ECONNREFUSED", timings: { totalMs: 3 } };
const policy = { scheduleSeconds: [5, 15, 30], maxAgeSeconds: 3_600, jitterPercent: 0 };

const attempts = createAttemptsStream(nats.handle, layout);
const deadLetters = createDeadLettersStream(nats.handle, layout);
const deliveries = createDeliveriesStream(nats.handle, layout);
const events = createEventsStream(nats.handle, layout);
const { log } = memoryLog();
const registry = new Registry();
const context = {
  attempts,
  deadLetters,
  events,
  log,
  now: () => nowMs,
  ending: new AbortController().signal,
  metrics: createDeliveryMetrics(registry),
  partnerMetrics: createPartnerMetrics(registry),
} as unknown as DeliveryContext;

async function attemptOf(
  of: DeliveryRecord,
  outcome: AttemptOutcome,
  settlement: Settlement,
  signed?: KeptSignature,
  sent?: SentRequest,
): Promise<string> {
  const made = { delivery: of, partner: own, startedAtMs: nowMs, outcome, settlement, pod: "pod-a" };
  const record = attemptRecord({ ...made, ...(signed && { signed }), ...(sent && { sent }) });
  await attempts.append(of.tenant, eventHash(of.eventId), JSON.stringify(record));
  return nats.take();
}

/** The record of an attempt, settled by the product. */
function settled(outcome: AttemptOutcome, acceptedAtMs = delivery.acceptedAtMs): Promise<string> {
  const of = { ...delivery, acceptedAtMs };
  return attemptOf(
    of,
    outcome,
    settle(outcome, policy, of, nowMs, () => 0),
  );
}

async function notes(): Promise<Readonly<Record<string, string>>> {
  const event = readEvent({
    subject: layout.event("acme", eventHash("e-1")),
    seq: 9,
    storedAtMs: nowMs,
    headers: { "Hg-Event": "e-1", "Hg-Type": "payout.processed" },
    data: body,
  });
  if (event === undefined) throw new Error("no event");
  await storeRoutingNote(context, event, {
    partners: [],
    payloads: new Map(),
    denied: [own],
    configuration: "00ff00ff00ff00ff00ff",
  });
  const routed = nats.take();
  createTakenIds({ attempts, now: () => nowMs, log })(new EventIdTaken({ eventId: "e-1", tenant: "acme" }, "other"));
  const taken = nats.take();
  const letter = Buffer.from(
    deadLetterOf({
      delivery: first,
      partner: own,
      state: "dead",
      reason: "connect",
      endedAtMs: nowMs,
      attempts: [],
      body,
    }).payload,
  );
  const found = [{ subject: "", seq: 5, storedAtMs: nowMs, headers: {}, data: letter }];
  const stream = { of: async () => found, remove: async () => undefined };
  const deps = { ...context, partners: () => [own], deadLetters: stream } as unknown as DeadLetterDeps;
  const request = { event_id: "e-1", partner: "default/one", note: "by phone", tenant: "acme" };
  await createDeadLettersApi(deps).ack(Buffer.from(JSON.stringify(request)), { client: "support", tenants: ["*"] });
  return { "routed note": routed, "taken note": taken, "handled note": nats.take() };
}

async function letters(): Promise<Readonly<Record<string, string>>> {
  const outcome = answered(404);
  const settlement = settle(outcome, policy, delivery, nowMs, () => 0);
  const record = attemptRecord({ delivery, partner: own, startedAtMs: nowMs, outcome, settlement, pod: "pod-a" });
  const state = "rejected";
  await deadLetters.append(
    deadLetterOf({ delivery, partner: own, state, reason: "status_404", endedAtMs: nowMs, attempts: [record], body }),
  );
  const rejected = nats.take();
  await deadLetters.append(unreadableDeadLetter(delivery.partner, "hg.dlv.lane.partner.did", 11, Buffer.from("?")));
  const unreadable = nats.take();
  const unsent = { delivery: first, partner: own, body, before: [] };
  await endUnsent(context, unsent, { reason: "backlog_full", detail: "too much waits" });
  const full = nats.take();
  await endUnsent(context, unsent, { reason: "partner_removed", detail: "removed" });
  return {
    "dead letter of a rejected delivery": rejected,
    "dead letter of an unreadable message": unreadable,
    "dead letter and record of a full backlog": full,
    "dead letter and record of a removed partner": nats.take(),
  };
}

async function deliveriesSent(): Promise<Readonly<Record<string, string>>> {
  await deliveries.publishFirst(deliveryMessage(first, "lane-1", body));
  const published = nats.take();
  const held = { subject: layout.firstAttempt("lane-1", delivery.partner, delivery.did), seq: 21 };
  await deliveries.schedule(deliveryMessage(delivery, "lane-1", body), held, nowMs + 5_000);
  const scheduled = nats.take();
  await deliveries.move(deliveryMessage(delivery, "lane-2", body), {
    subject: layout.retry("lane-1", delivery.partner, delivery.did),
    seq: 22,
  });
  return { "first attempt": published, "scheduled attempt": scheduled, "moved attempt": nats.take() };
}

async function operational(): Promise<Readonly<Record<string, string>>> {
  const table = () => ({ partnersFor: () => [own] });
  const signal = context.ending;
  const deps = { events, table, now: () => nowMs, installation: "test", nonce: () => "n-1", log, signal };
  const told = createOperationalEvents(deps as unknown as OperationalDeps);
  const reason = "status_503";
  const rows: readonly (readonly [string, DeliveryRecord, Settlement])[] = [
    ["recovered", { ...delivery, attempt: 4 }, { kind: "delivered" }],
    ["failing", delivery, { kind: "retry", atMs: nowMs, reason }],
    ["rejected", delivery, { kind: "rejected", reason }],
    ["exhausted", delivery, { kind: "dead", reason }],
    ["disabled", delivery, { kind: "disabled", reason }],
  ];
  const made: Record<string, string> = {};
  for (const [name, of, settlement] of rows) {
    await told.settled({ delivery: of, partner: own, settlement });
    made[`operational event ${name}`] = nats.take();
  }
  await told.breakerOpened(own, 60_000);
  return { ...made, "operational event breaker_open": nats.take() };
}

async function eventAndMark(): Promise<Readonly<Record<string, string>>> {
  const envelope = {
    eventId: "e-1",
    type: "payout.processed",
    version: "1",
    ts: "",
    tenant: "acme",
    producer: "ledger",
  };
  const message = { tenant: "acme", idhash: eventHash("e-1"), bytes: body };
  await events.store({ ...message, headers: eventHeaders(envelope, "n-1", { about: delivery.partner }) });
  const event = nats.take();
  const replays = createReplaysStream(nats.handle, layout);
  for (const mark of ["published", "delivered", "failed"] as const) await replays.mark("r-1", mark, delivery.did);
  const { traceparent } = createDeliverySpans(undefined).attempt(delivery, "default/one");
  return { event, "replay marks": nats.take(), traceparent };
}

test("what is written into streams has these bytes", async () => {
  expect({
    "attempt delivered": await settled(answered(204)),
    "attempt retried": await settled(answered(503)),
    "attempt rejected": await settled(answered(404)),
    "attempt disabled": await settled(answered(410)),
    "attempt dead": await settled(failed, nowMs - 3_600_000),
    "attempt with a signature": await attemptOf(
      first,
      answered(204),
      { kind: "delivered" },
      keepSignature("HmacV1", [{ id: "k1" }], new URL("https://partner.example/a/b?c"), { "X-Signature": "v1=s" }),
    ),
    "attempt with its request": await attemptOf(first, answered(204), { kind: "delivered" }, undefined, {
      url: "https://partner.example/a/b?***",
      headers: { "User-Agent": "Heliograph/1.0.0" },
      fixed: { "x-region": "eu", "x-api-key": null },
      authorized: ["Authorization"],
    }),
    "attempt without a replay": await attemptOf(first, failed, { kind: "dead", reason: "connect" }),
    ...(await notes()),
    ...(await letters()),
    ...(await deliveriesSent()),
    ...(await operational()),
    ...(await eventAndMark()),
  }).toEqual(readPinned(file));
});

/** A message whose bytes are the last line of a section. */
function storedAs(name: string, line = -1): StoredMessage {
  const lines = readPinned(file)[name]?.split("\n") ?? [];
  const data = Buffer.from(lines.at(line) ?? "");
  return { subject: lines[0] ?? "", seq: 1, storedAtMs: nowMs, headers: {}, data };
}

/** Details are sentences for people, which may be said better. */
function withoutDetails(json: string): string {
  return json.replaceAll(/"detail":"[^"]*"/gu, '"detail":""');
}

const names = ["attempt retried", "attempt without a replay", "routed note"];

test("what was written into streams is read as it was meant", async () => {
  const stored = [...names.map((name) => storedAs(name)), storedAs("dead letter and record of a full backlog")];
  const acceptedAt = new Date(nowMs).toISOString();
  const history = standingsOf(stored, new Map(), nowMs);
  const handled = standingsOf([...stored.slice(1), storedAs("handled note")], new Map(), nowMs);
  const refusedOnly = standingsOf([storedAs("routed note")], new Map(), nowMs);
  const use = await readEventIdUse(
    { events: { findEach: async () => [] }, attempts: { lastOfEach: async () => [storedAs("taken note")] } },
    "e-1",
    ["*"],
  );
  const stream = { list: async () => [storedAs("dead letter of a rejected delivery")] };
  const deps = { ...context, partners: () => [own], deadLetters: stream } as unknown as DeadLetterDeps;
  const query = { partner: "default/one", afterSeq: 0, limit: 1 };
  const listed = await createDeadLettersApi(deps).list(query, { client: "support", tenants: ["*"] });
  expect({
    history: withoutDetails(Buffer.from(historyBytes({ event: body, accepted_at: acceptedAt, ...history })).toString()),
    "history of a handled delivery": withoutDetails(JSON.stringify(handled)),
    "history of an event that a partner may not get": JSON.stringify(refusedOnly),
    "use of an event id": JSON.stringify(use),
    "dead letters": JSON.stringify(listed.items),
  }).toEqual(readPinned("webhook-history.txt"));
});

test("an attempt and a delivery are read back whole", () => {
  const line = storedAs("attempt rejected");
  expect(JSON.stringify(parseAttempts([line])[0])).toBe(line.data.toString());
  const subject = `hg.dlr.lane-1.${delivery.partner}.${delivery.did}`;
  const read = parseDeliveryRecord({ subject, headers: textsOf(deliveryHeaders(delivery)) });
  expect(read === undefined ? "" : JSON.stringify(deliveryHeaders(read))).toBe(
    '{"Hg-Event":"e-1","Hg-Tenant":"acme","Hg-Type":"payout.processed","Hg-Producer":"ledger","Hg-Step":"2:3:1",' +
      '"Hg-Accepted":"1767323044678","Hg-Before":"4","Hg-Replay":"r-1",' +
      '"Hg-Routed":"c=00ff00ff00ff00ff;g=7"}',
  );
});
