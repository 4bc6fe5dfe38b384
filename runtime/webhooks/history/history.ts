import type { HeldReason } from "../../../crds/config.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { parseAttempts, type AttemptRecord, type RecordedOutcome } from "../records/attempt-records.ts";
import { isLater, parseDeliveryRecord } from "../records/delivery-record.ts";
import { isHandled, parseHandled, type HandledNote } from "../records/handled-record.ts";
import { deliveryId, eventHash } from "../ids.ts";
import { viewOf, type HistoryView } from "./history-view.ts";
import type { RegisteredPartner } from "../partners/partner-registry.ts";
import type { AttemptTimings, FailureReason } from "../settlement/outcome.ts";
import { isNarrowed, type PartnerAccess } from "./partner-access.ts";
import type { Partner } from "../partners/partner.ts";
import { parseRouted } from "../records/routed-note.ts";
import type { RoutingTable } from "../partners/routing-table.ts";
import type { Settlement } from "../settlement/settle.ts";
import { settlementRow } from "../settlement/settlement-table.ts";
import { readEvent, type StoredEvent } from "../records/event-record.ts";

/**
 * Where a delivery stands. `held` waits until something may be sent to its partner. `rejected` and `dead` are both kept
 * as dead letters; only `dead` counts as exhausted. `not_routed`: there is none, since the right to get the event was
 * withdrawn.
 */
export const deliveryStates = ["in_delivery", "held", "delivered", "rejected", "dead", "not_routed"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** The answer to `GET /webhooks/events/:id`: the original package and what became of it, partner by partner. */
export interface EventHistory {
  /** The event, byte for byte as received. */
  readonly event: Uint8Array;
  /** When the router found that no partner, or not every partner, is to get the event, ISO 8601 UTC; null otherwise. */
  readonly routed_at: string | null;
  readonly deliveries: readonly DeliveryHistory[];
}

interface DeliveryHistory {
  /** `namespace/name`. */
  readonly partner: string;
  readonly state: DeliveryState;
  /** Code of the last outcome that was no success, or why the delivery is held or not routed; null without one. */
  readonly reason: string | null;
  /** ISO 8601 UTC, never in the past; null when no attempt is planned, or the next is about to be made. */
  readonly next_attempt_at: string | null;
  /** `manual` when somebody handled the event by hand and said so. */
  readonly handled: "manual" | null;
  readonly attempts: readonly AttemptHistory[];
}

interface AttemptHistory {
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
  readonly error: { readonly reason: FailureReason; readonly detail: string } | null;
  /** The beginning of the answer; null without one. */
  readonly response: ResponseHistory | null;
  /** The replay that the attempt belongs to; null for none. */
  readonly replay_id: string | null;
  /** Who made the attempt; for administrators only. */
  readonly pod?: string;
}

interface PhasesHistory {
  readonly dns: number | null;
  readonly connect: number | null;
  readonly tls: number | null;
  /** From the last byte of the request until the head of the answer. */
  readonly first_byte: number | null;
}

interface ResponseHistory {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly body_truncated: boolean;
}

export interface HistoryDeps {
  readonly events: EventsStream;
  readonly attempts: AttemptsStream;
  readonly deliveries: DeliveriesStream;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  readonly table: () => RoutingTable;
  /** Partners for whom something may wait though they are configured no more. */
  readonly removed: () => Promise<readonly Pick<RegisteredPartner, "token" | "uid" | "label">[]>;
}

/**
 * The history of an event of one of these tenants (`*`: of any), or undefined. For a reader who is narrowed to
 * partners, an event that has no delivery to one of them is none.
 */
export async function readHistory(
  deps: HistoryDeps,
  eventId: string,
  tenants: readonly string[],
  view: HistoryView = {},
): Promise<EventHistory | undefined> {
  const message = await deps.events.find(tenants, eventHash(eventId));
  const event = message === undefined ? undefined : readEvent(message);
  if (event === undefined) {
    return undefined;
  }
  const waiting = new Map([...(await waitingRemoved(deps, event)), ...(await waitingPartners(deps, event))]);
  // Read last: what is not live any more by then has left its attempt.
  const stored = await deps.attempts.list(event.tenant, eventHash(eventId));
  const standings = standingsOf(stored, waiting, deps.now(), view);
  return isNarrowed(view) && standings.deliveries.length === 0 ? undefined : { event: event.body, ...standings };
}

/** Where an event stands in its stream; undefined for one whose history the reader may not see. */
export async function visibleSeq(
  deps: HistoryDeps,
  eventId: string,
  { tenants, ...access }: PartnerAccess & { readonly tenants: readonly string[] },
): Promise<number | undefined> {
  if (isNarrowed(access) && (await readHistory(deps, eventId, tenants, access)) === undefined) {
    return undefined;
  }
  return (await deps.events.find(tenants, eventHash(eventId)))?.seq;
}

/**
 * The history as JSON. The bytes of the event stand in it as received: a parser would lose digits, escapes and order.
 */
export function historyBytes({ event, ...rest }: EventHistory): Uint8Array {
  const members = JSON.stringify(rest).slice(1);
  return Buffer.concat([Buffer.from('{"event":'), event, Buffer.from(`,${members}`)]);
}

/** What the records of an event and its live messages tell a reader. */
export function standingsOf(
  stored: readonly StoredMessage[],
  waiting: Waiting,
  nowMs: number,
  view: HistoryView = {},
): Pick<EventHistory, "routed_at" | "deliveries"> {
  const note = parseRouted(stored);
  const refused = (note?.refused ?? []).map(({ namespace, name }) => `${namespace}/${name}`);
  const all = deliveryHistories(parseAttempts(stored), waiting, { handled: parseHandled(stored), refused, nowMs });
  // To a reader of some partners the note would tell of another one.
  return { routed_at: isNarrowed(view) ? null : (note?.at ?? null), deliveries: viewOf(all, view) };
}

/**
 * Partners that want the event, or did until the right to it was withdrawn, and whose delivery is on its way, or will
 * be as soon as the event is routed.
 */
export async function waitingPartners(deps: HistoryDeps, event: StoredEvent): Promise<Waiting> {
  const wanting = deps.table().partnersFor(event);
  const refused = deps.table().refusedFor(event);
  if (wanting.length + refused.length === 0) {
    return new Map();
  }
  const isRouted = (await deps.events.routedUpTo()) >= event.seq;
  const find = async (
    partner: Partner,
    unless: number | undefined,
  ): Promise<readonly (readonly [string, WaitingDelivery])[]> => {
    const {
      label,
      config: { held },
    } = partner;
    const generation = (await liveGeneration(deps, event, partner, partner.config.uid)) ?? unless;
    return generation === undefined ? [] : [[label, { generation, ...(held === undefined ? {} : { held }) }]];
  };
  const unrouted = isRouted ? undefined : 0;
  const looks = [
    ...wanting.map((partner) => find(partner, unrouted)),
    ...refused.map((partner) => find(partner, undefined)),
  ];
  return new Map((await Promise.all(looks)).flat());
}

/** Partners that are configured no more and for whom a delivery of the event still waits until it ends. */
async function waitingRemoved(deps: HistoryDeps, event: StoredEvent): Promise<Waiting> {
  const find = async ({ token, uid, label }: Pick<RegisteredPartner, "token" | "uid" | "label">) => {
    const generation = await liveGeneration(deps, event, { key: token, lanes: anyLane }, uid);
    return generation === undefined ? [] : [[label, { generation, held: "partner_removed" }] as const];
  };
  return new Map((await Promise.all((await deps.removed()).map(find))).flat());
}

async function liveGeneration(
  { deliveries }: HistoryDeps,
  event: StoredEvent,
  { key: token, lanes }: Pick<Partner, "key" | "lanes">,
  uid: string,
): Promise<number | undefined> {
  const live = await deliveries.live(lanes, token, deliveryId(event.tenant, event.eventId, uid));
  const generations = live.flatMap((message) => parseDeliveryRecord(message)?.generation ?? []);
  return generations.length === 0 ? undefined : Math.max(...generations);
}

/** A delivery on its way. */
interface WaitingDelivery {
  readonly generation: number;
  /** Why nothing is sent to its partner, when that is so. */
  readonly held?: HeldReason | "partner_removed";
}

/** Deliveries on their way, by `namespace/name` of the partner. */
export type Waiting = ReadonlyMap<string, WaitingDelivery>;

/** What else is known of an event's deliveries. */
interface DeliveryNotes {
  readonly handled: readonly HandledNote[];
  /** Partners that the event was not routed to, by `namespace/name`. */
  readonly refused: readonly string[];
  /** Unix milliseconds by JetStream's clock. */
  readonly nowMs: number;
}

/** Histories by partner, of attempts in any order and of partners that may have none yet. */
export function deliveryHistories(
  attempts: readonly AttemptRecord[],
  waiting: Waiting,
  notes: DeliveryNotes,
): readonly DeliveryHistory[] {
  const byPartner = new Map<string, AttemptRecord[]>([...waiting.keys(), ...notes.refused].map((label) => [label, []]));
  for (const record of attempts) {
    const label = `${record.partner.namespace}/${record.partner.name}`;
    byPartner.set(label, [...(byPartner.get(label) ?? []), record]);
  }
  const labels = [...byPartner.keys()].sort();
  return labels.map((partner) => {
    const ordered = (byPartner.get(partner) ?? []).toSorted((a, b) => compareAttempts(a, b));
    return {
      partner,
      ...standing(partner, ordered, waiting.get(partner), notes),
      attempts: ordered.map(attemptHistory),
    };
  });
}

type Standing = Pick<DeliveryHistory, "state" | "reason" | "next_attempt_at" | "handled">;

/** In place of a lane in a subject. */
const anyLane = ["*"];
const open = { next_attempt_at: null, handled: null } as const;

function standing(
  partner: string,
  ordered: readonly AttemptRecord[],
  waiting: WaitingDelivery | undefined,
  { handled, refused, nowMs }: DeliveryNotes,
): Standing {
  const last = ordered.at(-1);
  const settlement = lastSettlement(ordered);
  const onItsWay = waiting === undefined ? undefined : standingOfWaiting(waiting, last, settlement);
  if (onItsWay !== undefined) {
    return onItsWay;
  }
  if (last !== undefined && isHandled(last, handled)) {
    return { ...open, state: "delivered", reason: null, handled: "manual" };
  }
  if (last === undefined && refused.includes(partner)) {
    return { ...open, state: "not_routed", reason: "not_permitted" };
  }
  return { ...standingOf(settlement, nowMs), handled: null };
}

/** Of the last step; when two pods made the same attempt, the one that succeeded counts. */
export function lastSettlement(ordered: readonly AttemptRecord[]): Settlement | undefined {
  const last = ordered.at(-1);
  const lastStep = ordered.filter((record) => last !== undefined && !isLater(last, record));
  return (lastStep.find(({ settlement }) => settlement.kind === "delivered") ?? last)?.settlement;
}

/** Orders attempts by step, then by time. */
export function compareAttempts(a: AttemptRecord, b: AttemptRecord): number {
  if (isLater(a, b)) {
    return 1;
  }
  return isLater(b, a) ? -1 : a.at.localeCompare(b.at);
}

/** A generation that is on its way and was not attempted yet comes before what became of those before it. */
function standingOfWaiting(
  { generation, held }: WaitingDelivery,
  last: AttemptRecord | undefined,
  settlement: Settlement | undefined,
): Standing | undefined {
  const isNext = generation > (last?.generation ?? -1);
  if (held !== undefined && (isNext || settlement?.kind === "retry")) {
    return { ...open, state: "held", reason: held };
  }
  return isNext ? { ...open, state: "in_delivery", reason: null } : undefined;
}

function standingOf(
  settlement: Settlement | undefined,
  nowMs: number,
): Pick<DeliveryHistory, "state" | "reason" | "next_attempt_at"> {
  if (settlement === undefined) {
    return { state: "in_delivery", reason: null, next_attempt_at: null };
  }
  // An attempt that is due is made as soon as the limits of the partner allow; that time is not known.
  const isAhead = settlement.kind === "retry" && settlement.atMs > nowMs;
  return {
    state: settlementRow(settlement).state,
    reason: settlement.kind === "delivered" ? null : settlement.reason,
    next_attempt_at: isAhead ? new Date(settlement.atMs).toISOString() : null,
  };
}

function attemptHistory({ number, at, durationMs, timings, outcome, replayId, pod }: AttemptRecord): AttemptHistory {
  const made = {
    attempt: number,
    at,
    duration_ms: durationMs,
    phases_ms: phasesHistory(timings),
    replay_id: replayId ?? null,
    pod,
  };
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
