import type { AttemptsStream } from "../nats/attempts-stream.ts";
import type { DeliveriesStream } from "../nats/deliveries-stream.ts";
import type { EventsStream } from "../nats/events-stream.ts";
import { parseAttempts, type AttemptRecord, type RecordedOutcome } from "./attempts.ts";
import { isLater, readItem } from "./delivery-item.ts";
import { deliveryId, eventHash } from "./ids.ts";
import type { AttemptTimings } from "./outcome.ts";
import type { Partner } from "./partner.ts";
import type { RoutingTable } from "./routing-table.ts";
import type { Settlement } from "./settle.ts";
import { readEvent, type StoredEvent } from "./stored-event.ts";

/** Where a delivery stands. `rejected` and `dead` are both kept as dead letters; only `dead` counts as exhausted. */
export type DeliveryState = "in_delivery" | "delivered" | "rejected" | "dead";

/** The answer to `GET /webhooks/events/:id`: the original package and what became of it, partner by partner. */
export interface EventHistory {
  /** The event as received. */
  readonly event: object;
  readonly deliveries: readonly DeliveryHistory[];
}

export interface DeliveryHistory {
  /** `namespace/name`. */
  readonly partner: string;
  readonly state: DeliveryState;
  /** Code of the last outcome that was no success; null without one. */
  readonly reason: string | null;
  /** ISO 8601 UTC; null when no attempt is planned, or the first is about to be made. */
  readonly next_attempt_at: string | null;
  readonly attempts: readonly AttemptHistory[];
}

export interface AttemptHistory {
  /** `X-Attempt`. */
  readonly attempt: number;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** HTTP status; null without an answer. */
  readonly status: number | null;
  readonly duration_ms: number;
  /** Milliseconds by phase; a phase that did not happen, as on a connection that was kept alive, is null. */
  readonly phases_ms: PhasesHistory;
  /** Why there was no answer; null with one. */
  readonly error: { readonly reason: string; readonly detail: string } | null;
  /** The beginning of the answer; null without one. */
  readonly response: ResponseHistory | null;
}

export interface PhasesHistory {
  readonly dns: number | null;
  readonly connect: number | null;
  readonly tls: number | null;
  /** From the last byte of the request until the head of the answer. */
  readonly first_byte: number | null;
}

export interface ResponseHistory {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly body_truncated: boolean;
}

export interface HistoryDeps {
  readonly events: EventsStream;
  readonly attempts: AttemptsStream;
  readonly deliveries: DeliveriesStream;
  readonly table: () => RoutingTable;
}

/** The history of an event of one of these tenants (`*`: of any), or undefined. */
export async function readHistory(
  deps: HistoryDeps,
  eventId: string,
  tenants: readonly string[],
): Promise<EventHistory | undefined> {
  const message = await deps.events.find(tenants, eventHash(eventId));
  const event = message === undefined ? undefined : readEvent(message);
  if (event === undefined) {
    return undefined;
  }
  const waiting = await waitingPartners(deps, event);
  // Read last: what is not live any more by then has left its attempt.
  const attempts = parseAttempts(await deps.attempts.list(event.tenant, eventHash(eventId)));
  return {
    event: JSON.parse(Buffer.from(event.body).toString()) as object,
    deliveries: deliveryHistories(attempts, waiting),
  };
}

/** Partners that want the event and whose delivery is on its way, or will be as soon as the event is routed. */
async function waitingPartners(deps: HistoryDeps, event: StoredEvent): Promise<readonly string[]> {
  const wanting = deps.table().partnersFor(event);
  if (wanting.length === 0) {
    return [];
  }
  const isRouted = (await deps.events.routedUpTo()) >= event.seq;
  const areWaiting = await Promise.all(wanting.map(async (partner) => !isRouted || isLive(deps, event, partner)));
  return wanting.filter((_, index) => areWaiting[index]).map(({ label }) => label);
}

async function isLive({ deliveries }: HistoryDeps, event: StoredEvent, partner: Partner): Promise<boolean> {
  const did = deliveryId(event.tenant, event.eventId, partner.config.uid);
  const live = await deliveries.live(partner.lanes, partner.token, did);
  return live.some((message) => readItem(message) !== undefined);
}

/** Histories by partner, of attempts in any order and of partners that may have none yet. */
export function deliveryHistories(
  attempts: readonly AttemptRecord[],
  waiting: readonly string[],
): readonly DeliveryHistory[] {
  const byPartner = new Map<string, AttemptRecord[]>(waiting.map((label) => [label, []]));
  for (const record of attempts) {
    const label = `${record.partner.namespace}/${record.partner.name}`;
    byPartner.set(label, [...(byPartner.get(label) ?? []), record]);
  }
  const labels = [...byPartner.keys()].sort();
  return labels.map((partner) => deliveryHistory(partner, byPartner.get(partner) ?? []));
}

function deliveryHistory(partner: string, records: readonly AttemptRecord[]): DeliveryHistory {
  const ordered = records.toSorted((a, b) => compareAttempts(a, b));
  return { partner, ...standingOf(lastSettlement(ordered)), attempts: ordered.map(attemptHistory) };
}

/** Of the last step; when two pods made the same attempt, the one that succeeded counts. */
function lastSettlement(ordered: readonly AttemptRecord[]): Settlement | undefined {
  const last = ordered.at(-1);
  const lastStep = ordered.filter((record) => last !== undefined && !isLater(last, record));
  return (lastStep.find(({ settlement }) => settlement.kind === "delivered") ?? last)?.settlement;
}

function compareAttempts(a: AttemptRecord, b: AttemptRecord): number {
  if (isLater(a, b)) {
    return 1;
  }
  return isLater(b, a) ? -1 : a.at.localeCompare(b.at);
}

function standingOf(settlement: Settlement | undefined): Pick<DeliveryHistory, "state" | "reason" | "next_attempt_at"> {
  switch (settlement?.kind) {
    case undefined:
      return { state: "in_delivery", reason: null, next_attempt_at: null };
    case "delivered":
      return { state: "delivered", reason: null, next_attempt_at: null };
    case "retry":
      return {
        state: "in_delivery",
        reason: settlement.reason,
        next_attempt_at: new Date(settlement.atMs).toISOString(),
      };
    case "dead":
      return { state: "dead", reason: settlement.reason, next_attempt_at: null };
    case "rejected":
    case "disabled":
      return { state: "rejected", reason: settlement.reason, next_attempt_at: null };
    default:
      throw new Error(`unknown settlement ${String(settlement satisfies never)}`);
  }
}

function attemptHistory({ number, at, durationMs, timings, outcome }: AttemptRecord): AttemptHistory {
  const made = { attempt: number, at, duration_ms: durationMs, phases_ms: phasesHistory(timings) };
  if (outcome.kind === "failure") {
    const { reason, detail } = outcome;
    return { ...made, status: null, error: { reason, detail }, response: null };
  }
  return { ...made, status: outcome.status, error: null, response: responseHistory(outcome) };
}

function phasesHistory({ dnsMs, connectMs, tlsMs, firstByteMs }: AttemptTimings): PhasesHistory {
  return { dns: tenths(dnsMs), connect: tenths(connectMs), tls: tenths(tlsMs), first_byte: tenths(firstByteMs) };
}

function tenths(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms * 10) / 10;
}

function responseHistory(outcome: Extract<RecordedOutcome, { kind: "response" }>): ResponseHistory {
  const { headers, body, bodyTruncated } = outcome;
  return { headers, body, body_truncated: bodyTruncated };
}
