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

// History: the read side of events, deliveries and attempts for callers. It writes nothing.

/**
 * The state of a delivery. `held`: waits until its partner may be sent to. `rejected` and `dead`: stored as a dead
 * letter; only `dead` counts as exhausted. `not_routed`: not created, because the permission to get the event was
 * withdrawn.
 */
export const deliveryStates = ["in_delivery", "held", "delivered", "rejected", "dead", "not_routed"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** The response to `GET /webhooks/events/:id`: the original event and its deliveries by partner. */
export interface EventHistory {
  /** The event, byte for byte as received. */
  readonly event: Uint8Array;
  /**
   * Time at which the router found that no partner, or not every partner, gets the event; null otherwise. ISO 8601 UTC.
   */
  readonly routed_at: string | null;
  readonly deliveries: readonly DeliveryHistory[];
}

interface DeliveryHistory {
  /** `namespace/name`. */
  readonly partner: string;
  readonly state: DeliveryState;
  /** Code of the last failure, or the reason why the delivery is held or not routed; null without one. */
  readonly reason: string | null;
  /** ISO 8601 UTC, never in the past; null when no attempt is scheduled, or the next one is due. */
  readonly next_attempt_at: string | null;
  /** `manual`: the event was handled by hand and acknowledged. */
  readonly handled: "manual" | null;
  readonly attempts: readonly AttemptHistory[];
}

interface AttemptHistory {
  /** `X-Attempt`. */
  readonly attempt: number;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** HTTP status; null without a response. */
  readonly status: number | null;
  readonly duration_ms: number;
  /** Milliseconds by phase; null for a phase that did not happen, as on a reused connection. */
  readonly phases_ms: PhasesHistory;
  /** Reason of the failure; null with a response. */
  readonly error: { readonly reason: FailureReason; readonly detail: string } | null;
  /** The start of the response; null without one. */
  readonly response: ResponseHistory | null;
  /** The replay of the attempt; null for none. */
  readonly replay_id: string | null;
  /** The pod that made the attempt; for administrators only. */
  readonly pod?: string;
}

interface PhasesHistory {
  readonly dns: number | null;
  readonly connect: number | null;
  readonly tls: number | null;
  /** From the last byte of the request to the head of the response. */
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
  /** Removed partners that may still have waiting deliveries. */
  readonly removed: () => Promise<readonly Pick<RegisteredPartner, "token" | "uid" | "label">[]>;
}

/**
 * Reads the history of an event of one of these tenants (`*`: any). Undefined when there is none, or when the caller is
 * narrowed to partners and none of them has a delivery of the event.
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
  // Attempts are read last: a delivery that is not live any more by then has stored its attempt.
  const stored = await deps.attempts.list(event.tenant, eventHash(eventId));
  const standings = standingsOf(stored, waiting, deps.now(), view);
  return isNarrowed(view) && standings.deliveries.length === 0 ? undefined : { event: event.body, ...standings };
}

/** The stream sequence of an event; undefined when the caller may not see its history. */
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
 * Encodes the history as JSON. It contains the bytes of the event as received. Parsing and encoding the event would
 * change digits, escapes and order.
 */
export function historyBytes({ event, ...rest }: EventHistory): Uint8Array {
  const members = JSON.stringify(rest).slice(1);
  return Buffer.concat([Buffer.from('{"event":'), event, Buffer.from(`,${members}`)]);
}

/** The deliveries of an event by its records and live messages, for a caller. */
export function standingsOf(
  stored: readonly StoredMessage[],
  waiting: Waiting,
  nowMs: number,
  view: HistoryView = {},
): Pick<EventHistory, "routed_at" | "deliveries"> {
  const note = parseRouted(stored);
  const refused = (note?.refused ?? []).map(({ namespace, name }) => `${namespace}/${name}`);
  const all = deliveryHistories(parseAttempts(stored), waiting, { handled: parseHandled(stored), refused, nowMs });
  // The note could reveal another partner to a narrowed caller.
  return { routed_at: isNarrowed(view) ? null : (note?.at ?? null), deliveries: viewOf(all, view) };
}

/**
 * Live deliveries to partners that want the event, or wanted it until the permission was withdrawn. Before the event is
 * routed, the deliveries to come are included.
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
    defaultGeneration: number | undefined,
  ): Promise<readonly (readonly [string, WaitingDelivery])[]> => {
    const { label, config } = partner;
    const { held, uid } = config;
    const generation = (await liveGeneration(deps, event, partner, uid)) ?? defaultGeneration;
    return generation === undefined ? [] : [[label, { generation, ...(held === undefined ? {} : { held }) }]];
  };
  const unrouted = isRouted ? undefined : 0;
  const reads = [
    ...wanting.map((partner) => find(partner, unrouted)),
    ...refused.map((partner) => find(partner, undefined)),
  ];
  return new Map((await Promise.all(reads)).flat());
}

/** Live deliveries of the event to removed partners. */
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

/** A live delivery. */
interface WaitingDelivery {
  readonly generation: number;
  /** Why its partner is held; absent otherwise. */
  readonly held?: HeldReason | "partner_removed";
}

/** Live deliveries, by `namespace/name` of the partner. */
export type Waiting = ReadonlyMap<string, WaitingDelivery>;

/** Other facts about the deliveries of an event. */
interface DeliveryNotes {
  readonly handled: readonly HandledNote[];
  /** Partners to which the event was not routed, by `namespace/name`. */
  readonly refused: readonly string[];
  /** Unix milliseconds by JetStream's clock. */
  readonly nowMs: number;
}

/** Histories by partner. The attempts may have any order, and a waiting partner may have none. */
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

/** The wildcard of a lane in a subject. */
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
  const live = waiting === undefined ? undefined : standingOfLive(waiting, last, settlement);
  if (live !== undefined) {
    return live;
  }
  if (last !== undefined && isHandled(last, handled)) {
    return { ...open, state: "delivered", reason: null, handled: "manual" };
  }
  if (last === undefined && refused.includes(partner)) {
    return { ...open, state: "not_routed", reason: "not_permitted" };
  }
  return { ...standingOf(settlement, nowMs), handled: null };
}

/** The settlement of the last step. When two pods made the same attempt, the successful one counts. */
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

/** A live generation without attempts takes precedence over the results of earlier ones. */
function standingOfLive(
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
  // A due attempt is made when the limits of the partner allow it. That time is unknown.
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
