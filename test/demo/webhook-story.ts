import { waitFor } from "../support/wait.ts";
import { eventIds } from "../../demo/partners.ts";
import { demoEvent, payoutEvents, type DemoEvent } from "./events.ts";
import type { PartnerReport } from "../../demo/partners.ts";
import { claim, type Stage } from "./stage.ts";

const deliveredMsMax = 20_000;
const oversizeBytes = 300 * 1024;

/** What the story needs: tokens, and what the partners saw. */
interface WebhookStory {
  readonly stage: Stage;
  /** Bearer token of a producer and reader of the tenant `lumen`. */
  readonly token: string;
  readonly reports: () => readonly PartnerReport[];
}

interface Delivery {
  readonly partner: string;
  readonly state: string;
  readonly reason: string | null;
  readonly attempts: readonly {
    readonly attempt: number;
    readonly at: string;
    readonly status: number | null;
    readonly duration_ms: number;
  }[];
}

/** Refusals first, then events that arrive, one after a retry, and one that a partner rejects for good. */
export async function tellWebhookStory(story: WebhookStory): Promise<void> {
  const events = payoutEvents(Date.now());
  await showRefusals(story, events);
  await publishAll(story, events);
  await showDeliveries(story, events);
}

async function showRefusals({ stage, token }: WebhookStory, events: readonly DemoEvent[]): Promise<void> {
  stage.title("Events that are refused, each with a coded error");
  const [event] = events;
  const now = Date.now();
  const publish = (what: string, status: number, body: string) => stage.ask(what, status, "/events", post(token, body));
  await stage.ask("no token", 401, "/events", post(undefined, event?.body ?? ""));
  await publish("not JSON", 400, "{");
  await publish("another tenant's event", 403, demoEvent("evt-x1", "payout.created", now, {}, "vega").body);
  await publish("no event id", 422, JSON.stringify({ type: "payout.created", version: "2026-01-01", ts: "now" }));
  await publish("a card number", 422, demoEvent("evt-x2", "payout.created", now, { note: "4111 1111 1111 1111" }).body);
  await publish("300 KiB", 413, demoEvent("evt-x3", "payout.created", now, { text: "x".repeat(oversizeBytes) }).body);
}

async function publishAll({ stage, token }: WebhookStory, events: readonly DemoEvent[]): Promise<void> {
  stage.title("Events that are stored: 202 after JetStream's acknowledgement");
  for (const { eventId, body } of events) await stage.ask(eventId, 202, "/events", post(token, body));
  const [first] = events;
  const again = await stage.ask("the first one again, equal bytes", 202, "/events", post(token, first?.body ?? ""));
  claim((again.body as { readonly duplicate: boolean }).duplicate, "a repeated event is answered as a duplicate");
  const changed = (first?.body ?? "").replace("EUR", "USD");
  await stage.ask("the first one again, other bytes", 409, "/events", post(token, changed));
}

async function showDeliveries(story: WebhookStory, events: readonly DemoEvent[]): Promise<void> {
  const { stage, token, reports } = story;
  stage.title("Deliveries, as the partners saw them (signature and window verified by the recipient kit)");
  const own = new Set(events.map(({ eventId }) => eventId));
  const reported = () => reports().filter(({ eventId = "" }) => own.has(eventId));
  const taken = () => reported().filter(({ outcome }) => outcome === "processed");
  stage.say("   (one partner answers 503 once: its retry comes after 5 s)");
  // Two partners take everything, but for the one event that one of them never takes.
  const expected = events.length * 2 - 1;
  await waitFor(() => taken().length >= expected, { timeoutMs: deliveredMsMax, what: `${expected} deliveries` });
  for (const { partner, eventId, outcome, status } of reported())
    stage.say(`   ${String(status)}  ${partner.padEnd(14)} ${outcome.padEnd(9)} ${eventId ?? ""}`);
  claim(taken().length === expected, "every event has its effect exactly once at each partner");
  stage.title("History of the retried event: GET /webhooks/events/:id");
  const retried = await history(story, token, eventIds.retried, "acme-payments", "delivered");
  claim(retried.attempts.length === 2, "the retried event took two attempts");
  stage.title("History of the rejected event, kept in the dead-letter stream");
  const rejected = await history(story, token, eventIds.rejected, "north-ledger", "rejected");
  claim(rejected.attempts.length === 1, "a 422 is not repeated");
}

async function history(
  { stage }: WebhookStory,
  token: string,
  eventId: string,
  partner: string,
  state: string,
): Promise<Delivery> {
  const read = async (): Promise<Delivery | undefined> => {
    const path = `/webhooks/events/${eventId}`;
    const { body } = await stage.ask(eventId, 200, path, { headers: { authorization: `Bearer ${token}` } });
    const { deliveries } = body as { readonly deliveries: readonly Delivery[] };
    return deliveries.find((delivery) => delivery.partner.endsWith(partner) && delivery.state === state);
  };
  const delivery = await waitFor(read, { timeoutMs: deliveredMsMax, what: `${eventId} to be ${state} at ${partner}` });
  stage.say(`        ${delivery.partner}: ${delivery.state}${delivery.reason === null ? "" : `, ${delivery.reason}`}`);
  for (const { attempt, at, status, duration_ms: durationMs } of delivery.attempts)
    stage.say(`        attempt ${attempt} at ${at}: ${status ?? "no answer"} in ${durationMs} ms`);
  return delivery;
}

function post(token: string | undefined, body: string): RequestInit {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return { method: "POST", body, headers: { "content-type": "application/json", ...authorization } };
}
