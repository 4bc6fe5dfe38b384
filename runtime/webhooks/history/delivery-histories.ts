import type {
  AttemptHistory as Attempt,
  AttemptRequest,
  AttemptSettlement,
  AttemptSignature,
  DeliveryHistory as Delivery,
  DeliveryWait,
  PhasesMs,
  RecordedResponse,
  RoutedBy,
} from "../../../api/histories.ts";
import type { HeldReason } from "../../../crds/config.ts";
import type { AttemptRecord, RecordedOutcome } from "../records/attempt-records.ts";
import { isLater } from "../records/delivery-record.ts";
import { findHandled, type HandledNote, parseRoutedBy } from "../records/event-record.ts";
import type { AttemptTimings, FailureReason } from "../settlement/outcome.ts";
import type { Settlement } from "../settlement/settle.ts";
import { settlementRow } from "../settlement/settlement-table.ts";
import { waitOf } from "./find-block.ts";
import { noRequests, noSignatures, type RequestOf, type SignatureOf } from "./history-view.ts";

/** The attempt of a response, whose failure is one that the sender knows. */
type AttemptHistory = Omit<Attempt, "error"> & {
  readonly error: { readonly reason: FailureReason; readonly detail: string } | null;
};

/**
 * The delivery of a response. Its generation is 0 for the event itself, and one more for each replay. The time of its
 * next attempt is never in the past: null also when that attempt is due.
 */
export type DeliveryHistory = Omit<Delivery, "attempts"> & { readonly attempts: readonly AttemptHistory[] };

/**
 * Reasons for partners without configuration. `partner_rejected`: the partner exists, and neither its definition nor an
 * earlier version of it can be applied.
 */
export const unconfiguredReasons = ["partner_removed", "partner_rejected"] as const;
type UnconfiguredReason = (typeof unconfiguredReasons)[number];

/** A live delivery. */
export interface WaitingDelivery {
  readonly generation: number;
  /** Why its partner is held; absent otherwise. */
  readonly held?: HeldReason | UnconfiguredReason;
  /** What keeps all deliveries of its partner waiting; absent for nothing, or when nobody asked. */
  readonly block?: DeliveryWait;
  /** As in its message. */
  readonly routedBy?: string;
}

/** Live deliveries, by `namespace/name` of the partner. */
export type Waiting = ReadonlyMap<string, WaitingDelivery>;

/** Other facts about the deliveries of an event. */
interface DeliveryNotes {
  readonly handled: readonly HandledNote[];
  /** True if the caller sees which client acknowledged a dead letter. @default false */
  readonly showsClients?: boolean;
  /** Partners to which the event was not routed, by `namespace/name`. */
  readonly denied: readonly string[];
  /** Unix milliseconds by JetStream's clock. */
  readonly nowMs: number;
  /** @default no signature is shown */
  readonly signatureOf?: SignatureOf;
  /** @default no request is shown */
  readonly requestOf?: RequestOf;
}

/** Histories by partner. The attempts may have any order, and a waiting partner may have none. */
export function deliveryHistories(
  attempts: readonly AttemptRecord[],
  waiting: Waiting,
  notes: DeliveryNotes,
): readonly DeliveryHistory[] {
  const { signatureOf = noSignatures, requestOf = noRequests } = notes;
  const byPartner = new Map<string, AttemptRecord[]>([...waiting.keys(), ...notes.denied].map((label) => [label, []]));
  for (const record of attempts) {
    const label = `${record.partner.namespace}/${record.partner.name}`;
    byPartner.set(label, [...(byPartner.get(label) ?? []), record]);
  }
  const labels = [...byPartner.keys()].sort();
  return labels.map((partner) => {
    const ordered = (byPartner.get(partner) ?? []).toSorted((a, b) => compareAttempts(a, b));
    const live = waiting.get(partner);
    const now = standing(partner, ordered, live, notes);
    return {
      partner,
      ...now,
      waiting: waitOf(now, live, { at: ordered.at(-1)?.at, settlement: lastSettlement(ordered) }),
      generation: Math.max(live?.generation ?? 0, ordered.at(-1)?.generation ?? 0),
      routed_by: routedByOf([...ordered, live]) ?? null,
      attempts: ordered.map((record) => attemptHistory(record, signatureOf(record), requestOf(record))),
    };
  });
}

/** The configuration of the first record that names one. Replays name none. */
function routedByOf(records: readonly (Pick<AttemptRecord, "routedBy"> | undefined)[]): RoutedBy | undefined {
  for (const record of records) {
    const found = parseRoutedBy(record?.routedBy);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Standing = Pick<DeliveryHistory, "state" | "reason" | "next_attempt_at" | "handled" | "acknowledged">;

const open = { next_attempt_at: null, handled: null } as const;

function standing(
  partner: string,
  ordered: readonly AttemptRecord[],
  waiting: WaitingDelivery | undefined,
  { handled, denied, nowMs, showsClients = false }: DeliveryNotes,
): Standing {
  const last = ordered.at(-1);
  const settlement = lastSettlement(ordered);
  const live = waiting === undefined ? undefined : standingOfLive(waiting, last, settlement);
  if (live !== undefined) return live;
  const note = last === undefined ? undefined : findHandled(last, handled);
  if (note !== undefined) return standingOfHandled(note, showsClients);
  if (last === undefined && denied.includes(partner)) return { ...open, state: "not_routed", reason: "not_permitted" };
  return { ...standingOf(settlement, nowMs), handled: null };
}

function standingOfHandled({ at, by, note }: HandledNote, showsClients: boolean): Standing {
  const acknowledged = { at, by: showsClients && by !== "" ? by : null, note: note ?? null };
  return { ...open, state: "delivered", reason: null, handled: "manual", acknowledged };
}

/** The settlement of the last step. When two pods made the same attempt, the successful one counts. */
export function lastSettlement(ordered: readonly AttemptRecord[]): Settlement | undefined {
  const last = ordered.at(-1);
  const lastStep = ordered.filter((record) => last !== undefined && !isLater(last, record));
  return (lastStep.find(({ settlement }) => settlement.kind === "delivered") ?? last)?.settlement;
}

/** Orders attempts by step, then by time. */
export function compareAttempts(a: AttemptRecord, b: AttemptRecord): number {
  if (isLater(a, b)) return 1;
  return isLater(b, a) ? -1 : a.at.localeCompare(b.at);
}

/** A live generation without attempts takes precedence over the results of earlier ones. */
function standingOfLive(
  { generation, held }: WaitingDelivery,
  last: AttemptRecord | undefined,
  settlement: Settlement | undefined,
): Standing | undefined {
  const isNext = generation > (last?.generation ?? -1);
  if (held !== undefined && (isNext || settlement?.kind === "retry")) return { ...open, state: "held", reason: held };
  return isNext ? { ...open, state: "in_delivery", reason: null } : undefined;
}

function standingOf(
  settlement: Settlement | undefined,
  nowMs: number,
): Pick<DeliveryHistory, "state" | "reason" | "next_attempt_at"> {
  if (settlement === undefined) return { state: "in_delivery", reason: null, next_attempt_at: null };
  // A due attempt is made when the limits of the partner allow it. That time is unknown.
  const isAhead = settlement.kind === "retry" && settlement.atMs > nowMs;
  return {
    state: settlementRow(settlement).state,
    reason: settlement.kind === "delivered" ? null : settlement.reason,
    next_attempt_at: isAhead ? new Date(settlement.atMs).toISOString() : null,
  };
}

function attemptHistory(
  record: AttemptRecord,
  signed: AttemptSignature | null,
  request: AttemptRequest | undefined,
): AttemptHistory {
  const { number, at, durationMs, timings, outcome, replayId, pod } = record;
  const made = {
    attempt: number,
    at,
    duration_ms: durationMs,
    phases_ms: phasesHistory(timings),
    replay_id: replayId ?? null,
    settlement: settlementHistory(record.settlement),
    signed,
    pod,
    ...(request === undefined ? {} : { request }),
    ...(record.warnings === undefined ? {} : { warnings: record.warnings }),
  };
  if (outcome.kind === "failure") {
    const { reason, detail } = outcome;
    return { ...made, status: null, error: { reason, detail }, response: null };
  }
  return { ...made, status: outcome.status, error: null, response: responseHistory(outcome) };
}

function settlementHistory(settlement: Settlement): AttemptSettlement {
  const { kind } = settlement;
  return settlement.kind === "retry" ? { kind, at: new Date(settlement.atMs).toISOString() } : { kind };
}

function phasesHistory({ dnsMs, connectMs, tlsMs, firstByteMs }: AttemptTimings): PhasesMs {
  return { dns: tenths(dnsMs), connect: tenths(connectMs), tls: tenths(tlsMs), first_byte: tenths(firstByteMs) };
}

function tenths(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms * 10) / 10;
}

function responseHistory(outcome: Extract<RecordedOutcome, { kind: "response" }>): RecordedResponse {
  const { headers, body, bodyTruncated } = outcome;
  return { headers, body, body_truncated: bodyTruncated };
}
