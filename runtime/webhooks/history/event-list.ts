import { unsentReasons, type EventSummary, type DeliveryState, type ListedState } from "../../../api/histories.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { visibleSeq, type HistoryDeps, standingsOf, waitingPartners } from "./history.ts";
import { readEvent, type StoredEvent } from "../records/event-record.ts";
import { compilePattern } from "../events/subscriptions.ts";
import type { Waiting } from "./delivery-histories.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "./history-view.ts";
import { eventHash, tenantToScan, includesTenant } from "../ids.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";

export interface EventPage {
  readonly items: readonly EventSummary[];
  /** Sequence after which the next page begins, or before which, the newest first; undefined at the end. */
  readonly nextSeq?: number;
  /** Of a list of the newest first. */
  readonly newest?: {
    /** Sequence after which events come that the list could not have. */
    readonly seq: number;
    /** False when older events that match may be missing. */
    readonly isComplete: boolean;
  };
}

const batchMax = 64;
/** Events that one request reads at most. The page then ends early, with the sequence to continue after. */
const readMax = 4_096;

/** A page of events in the order of the stream. */
interface ScannedPage extends EventPage {
  /** Sequence of the last event that was read, or after which the page begins. */
  readonly lastSeq: number;
}

/** Parameters of a list of events. */
export interface EventQuery extends PartnerAccess {
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
  /** Accepted at or after this, Unix milliseconds. */
  readonly fromMs: number;
  /** Accepted before this, Unix milliseconds. */
  readonly toMs: number;
  /** Begin after this event id. */
  readonly afterId?: string;
  /** End before this event id. */
  readonly beforeId?: string;
  /** Type or pattern. @default all types */
  readonly type?: string;
  /** `namespace/name`: only events with a delivery to it. */
  readonly partner?: string;
  /** Only events with a delivery in this state, to {@link partner} if given. */
  readonly state?: ListedState;
  /** Only events with a delivery whose last attempt had such a status, likewise. */
  readonly status?: StatusRange;
  /** Only events with a delivery that has this reason, likewise. */
  readonly reason?: string;
  /** `desc`: the newest first. @default asc */
  readonly order?: "desc";
  /** Last sequence of the previous page, if that was of older events. @default the first page */
  readonly afterSeq?: number;
  /** Last sequence of the previous page, if that was of newer events. @default the first page */
  readonly beforeSeq?: number;
  readonly limit: number;
}

/** HTTP statuses, both included; 0 stands for an attempt without a response. */
export interface StatusRange {
  readonly min: number;
  readonly max: number;
}

/** Everything that is stored about the deliveries of an event. */
export interface EventReading {
  readonly event: StoredEvent;
  readonly waiting: Waiting;
  readonly stored: readonly StoredMessage[];
}

/**
 * Reads the stream for events of some tenants that have a delivery to a partner of the caller, oldest first, without
 * the index.
 */
export async function scanEvents(deps: HistoryDeps, query: EventQuery, bounds: SeqBounds): Promise<ScannedPage> {
  const tenant = tenantToScan(query.tenants);
  const items: EventSummary[] = [];
  let lastSeq = bounds.afterSeq;
  for (let read = 0; read < readMax;) {
    const start = lastSeq === 0 ? { atMs: query.fromMs } : { seq: lastSeq + 1 };
    const messages = await deps.events.scan(tenant, start, batchMax);
    const inside = messages.filter(({ seq, storedAtMs }) => seq < bounds.beforeSeq && storedAtMs < query.toMs);
    for (const { item, seq } of await summariesOf(deps, query, inside)) {
      if (items.length === query.limit) return { items, nextSeq: lastSeq, lastSeq };
      items.push(...item);
      lastSeq = seq;
    }
    if (messages.length === 0 || inside.length < messages.length) return { items, lastSeq };
    read += messages.length;
  }
  return { items, nextSeq: lastSeq, lastSeq };
}

/** Sequences between which a list lies, without both. */
export interface SeqBounds {
  readonly afterSeq: number;
  readonly beforeSeq: number;
}

/** The bounds of a query; undefined when it names an event that the caller may not see. */
export async function boundsOf(deps: HistoryDeps, query: EventQuery): Promise<SeqBounds | undefined> {
  const { afterId, beforeId, afterSeq = 0, beforeSeq = Infinity } = query;
  const seqOf = async (eventId: string | undefined, open: number): Promise<number | undefined> =>
    eventId === undefined ? open : visibleSeq(deps, eventId, query);
  const after = await seqOf(afterId, 0);
  const before = await seqOf(beforeId, Number.POSITIVE_INFINITY);
  return after === undefined || before === undefined
    ? undefined
    : { afterSeq: Math.max(after, afterSeq), beforeSeq: Math.min(before, beforeSeq) };
}

/** The summaries of the messages, in order; empty for a message that the query excludes. */
async function summariesOf(
  deps: HistoryDeps,
  query: EventQuery,
  messages: readonly StoredMessage[],
): Promise<readonly { readonly seq: number; readonly item: readonly EventSummary[] }[]> {
  const isSelected = eventTest(query);
  return Promise.all(
    messages.map(async (message) => {
      const event = readEvent(message);
      if (event === undefined || !isSelected(event)) return { seq: message.seq, item: [] };
      const summary = summaryOf(deps, await readDeliveries(deps, event), query);
      return { seq: message.seq, item: isWanted(query, summary) ? [summary] : [] };
    }),
  );
}

/** Tests an event itself. */
export function eventTest(query: EventQuery): (event: StoredEvent) => boolean {
  const isType = query.type === undefined ? () => true : compilePattern(query.type);
  return ({ tenant, type, acceptedAtMs }) =>
    includesTenant(query.tenants, tenant) && isType(type) && acceptedAtMs >= query.fromMs;
}

/** Whether only events with some deliveries are requested. */
export function asksForDeliveries({ partner, state, status, reason, ...access }: EventQuery): boolean {
  return isNarrowed(access) || [partner, state, status, reason].some((one) => one !== undefined);
}

/** Whether the caller may see deliveries to a partner and requests them. */
export function isPartnerWanted(query: EventQuery, partner: string): boolean {
  return mayNamePartner(query, partner) && (query.partner ?? partner) === partner;
}

/** Whether one delivery that the caller may see is as the query asks. */
export function isWanted(query: EventQuery, { deliveries }: EventSummary): boolean {
  const { partner, state, status, reason } = query;
  if (!asksForDeliveries(query)) return true;
  return deliveries.some(
    (delivery) =>
      (partner ?? delivery.partner) === delivery.partner &&
      isInState(delivery.state, state) &&
      (reason ?? delivery.reason) === delivery.reason &&
      (status === undefined || (delivery.attempts > 0 && isWithin(status, delivery.status ?? 0))),
  );
}

function isInState(state: DeliveryState, wanted: ListedState | undefined): boolean {
  if (wanted === "failed") return state === "rejected" || state === "dead";
  return wanted === undefined || state === wanted;
}

/** Whether a status lies in the range. */
export function isWithin({ min, max }: StatusRange, status: number): boolean {
  return status >= min && status <= max;
}

/** Reads what is stored about an event. Attempts are read last, as in its history. */
export async function readDeliveries(deps: HistoryDeps, event: StoredEvent): Promise<EventReading> {
  const waiting = await waitingPartners(deps, event, deps.findCachedBlock);
  return { event, waiting, stored: await deps.attempts.list(event.tenant, eventHash(event.eventId)) };
}

/** The summary of an event for a caller. */
export function summaryOf(
  deps: Pick<HistoryDeps, "now">,
  { event, waiting, stored }: EventReading,
  access: PartnerAccess,
): EventSummary {
  const { routed_at: routedAt, deliveries } = standingsOf(stored, waiting, deps.now(), access);
  return {
    event_id: event.eventId,
    type: event.type,
    tenant: event.tenant,
    accepted_at: new Date(event.acceptedAtMs).toISOString(),
    routed_at: routedAt,
    deliveries: deliveries.map(({ partner, state, reason, attempts, waiting: wait }) => {
      const status = attempts.at(-1)?.status ?? null;
      const sent = attempts.filter(({ error }) => error === null || !unsentReasons.has(error.reason));
      return { partner, state, reason, status, attempts: sent.length, waiting: wait };
    }),
  };
}

/** Stored events between two sequences, read in chunks. Whoever requests a chunk again gets what was read. */
export interface RecentEvents {
  /** Events within the bounds in order, a chunk at a time. A chunk may also hold events outside of them. */
  chunks(bounds: SeqBounds, isAscending: boolean): Iterable<() => Promise<readonly StoredMessage[]>>;
}

/** A little more than a page, so that the newest page takes one read. */
export const chunkSize = 128;

/** Creates the events from one sequence to another, both inclusive. It reads nothing before a chunk is requested. */
export function createRecentEvents(events: Pick<EventsStream, "scan">, fromSeq: number, lastSeq: number): RecentEvents {
  const known = new Map<number, Promise<readonly StoredMessage[]>>();
  const chunkAt = (seq: number): Promise<readonly StoredMessage[]> => {
    const found = known.get(seq) ?? readBetween(events, seq, Math.min(seq + chunkSize - 1, lastSeq));
    known.set(seq, found);
    return found;
  };
  return {
    *chunks({ afterSeq, beforeSeq }, isAscending) {
      const starts: number[] = [];
      for (let seq = fromSeq; seq <= Math.min(lastSeq, beforeSeq - 1); seq += chunkSize)
        if (seq + chunkSize - 1 > afterSeq) starts.push(seq);
      for (const seq of isAscending ? starts : starts.reverse()) yield () => chunkAt(seq);
    },
  };
}

async function readBetween(
  events: Pick<EventsStream, "scan">,
  fromSeq: number,
  toSeq: number,
): Promise<readonly StoredMessage[]> {
  const found: StoredMessage[] = [];
  for (let seq = fromSeq; seq <= toSeq;) {
    const batch = await events.scan("*", { seq }, toSeq - seq + 1);
    found.push(...batch.filter((message) => message.seq <= toSeq));
    seq = (batch.at(-1)?.seq ?? toSeq) + 1;
  }
  return found;
}
