import type { ListedState } from "../../../api/histories.ts";
import type { EventSummary } from "../../../api/histories.ts";
import type { HeldReason } from "../../../crds/config.ts";
import { createTimeSlices } from "../../../limits/clock.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { EventIndex, IndexView } from "../event-index/event-index.ts";
import type { RowKind } from "../event-index/index-message.ts";
import { findCandidates, type DeliverySearch, type EventSearch } from "../event-index/search.ts";
import { compilePattern } from "../events/subscriptions.ts";
import { includesTenant } from "../ids.ts";
import { readEvent } from "../records/event-record.ts";
import { unconfiguredReasons } from "./delivery-histories.ts";
import {
  type EventPage,
  type SeqBounds,
  asksForDeliveries,
  eventTest,
  isPartnerWanted,
  isWanted,
  isWithin,
  type EventQuery,
  readDeliveries,
  summaryOf,
  type EventReading,
  createRecentEvents,
  type RecentEvents,
} from "./event-list.ts";
import type { HistoryDeps } from "./history.ts";

export interface IndexedDeps extends HistoryDeps {
  readonly index: EventIndex;
}

/** The index, and the events that it lacks yet. */
export interface ListView {
  readonly index: IndexView;
  /** Events after those of the index. */
  readonly recent: RecentEvents;
  /** Sequence of the newest event of both. */
  readonly newestSeq: number;
  /** Time before which events may be missing, Unix milliseconds; 0 for none. */
  readonly reachMs: number;
}

/** Events beyond the index that one request reads at most. */
const recentMax = 4_096;

/** Reads what the index got, and where the events end that it lacks. @throws Error when JetStream does not respond */
export async function readListView({ index, events }: IndexedDeps): Promise<ListView> {
  const { firstSeq, lastSeq } = await events.bounds();
  const view = await index.read();
  const indexedSeq = view.columns.lastSeq;
  const wholeSeq = Math.max(indexedSeq + 1, firstSeq);
  const fromSeq = Math.max(wholeSeq, lastSeq - recentMax + 1);
  const recent = createRecentEvents(events, fromSeq, lastSeq);
  const isEmpty = view.columns.events.end === 0;
  // Without an index, the recent events are all that there is.
  const wholeMs = isEmpty ? 0 : view.reachMs;
  const reachMs = fromSeq === wholeSeq ? wholeMs : await firstTimeOf(recent);
  return { index: view, recent, newestSeq: Math.max(indexedSeq, lastSeq), reachMs };
}

async function firstTimeOf(recent: RecentEvents): Promise<number> {
  for (const read of recent.chunks({ afterSeq: 0, beforeSeq: Infinity }, true)) {
    const [first] = await read();
    if (first !== undefined) return first.storedAtMs;
  }
  return Infinity;
}

/** An event that may match. The message of a recent one is at hand. */
interface Candidate {
  readonly seq: number;
  readonly message?: StoredMessage;
}

/** Reads what is stored about candidates; undefined for an event that is gone. */
export type ReadCandidates = (candidates: readonly Candidate[]) => Promise<readonly (EventReading | undefined)[]>;

const batchMax = 64;
const batchMin = 16;
/** Candidates that one request reads at most. The page then ends early, with the sequence to continue after. */
const readMax = 1_024;
const slices = createTimeSlices();

/**
 * Lists events by the index. Each is read from the streams before it is shown, so that what is shown is true.
 *
 * @param read shares readings among requests. @default every event is read
 */
export async function listIndexed(
  deps: IndexedDeps,
  view: ListView,
  query: EventQuery,
  bounds: SeqBounds,
  read: ReadCandidates = createCandidateReads(deps),
): Promise<EventPage> {
  const summarize = summaries(deps, query, read);
  const source = candidatesOf(deps, view, query, bounds);
  const items: EventSummary[] = [];
  let lastSeq = query.order === "desc" ? bounds.beforeSeq : bounds.afterSeq;
  for (let count = 0; count < readMax;) {
    const missing = query.limit - items.length + 1;
    const batch = await source(Math.min(batchMax, Math.max(batchMin, missing)));
    if (batch.length === 0) return { items };
    for (const { seq, item } of await summarize(batch)) {
      if (items.length + item.length > query.limit) return { items, nextSeq: lastSeq };
      items.push(...item);
      lastSeq = seq;
    }
    count += batch.length;
  }
  return { items, nextSeq: lastSeq };
}

interface Summarized {
  readonly seq: number;
  /** Empty when the query excludes the event. */
  readonly item: readonly EventSummary[];
}

function summaries(
  deps: IndexedDeps,
  query: EventQuery,
  read: ReadCandidates,
): (candidates: readonly Candidate[]) => Promise<readonly Summarized[]> {
  const isSelected = eventTest(query);
  const itemOf = (reading: EventReading | undefined): readonly EventSummary[] => {
    if (reading === undefined || !isSelected(reading.event)) return [];
    const summary = summaryOf(deps, reading, query);
    return isWanted(query, summary) ? [summary] : [];
  };
  return async (candidates) => {
    const readings = await read(candidates);
    return candidates.map(({ seq }, place) => ({ seq, item: itemOf(readings[place]) }));
  };
}

/** Creates a reader of candidates that reads each event again. */
export function createCandidateReads(deps: IndexedDeps): ReadCandidates {
  return async (candidates) => {
    const absent = candidates.filter(({ message }) => message === undefined).map(({ seq }) => seq);
    const found = new Map((await deps.events.readAll(absent)).map((message) => [message.seq, message]));
    return Promise.all(
      candidates.map(async ({ seq, message = found.get(seq) }) => {
        const event = message === undefined ? undefined : readEvent(message);
        return event === undefined ? undefined : readDeliveries(deps, event);
      }),
    );
  };
}

/** Takes the next candidates, at most so many; none at the end. */
type CandidateSource = (max: number) => Promise<readonly Candidate[]>;

/** Recent events are read only if the index has too few for a page. */
function candidatesOf(
  deps: IndexedDeps,
  { index, recent }: ListView,
  query: EventQuery,
  bounds: SeqBounds,
): CandidateSource {
  const isAscending = query.order !== "desc";
  const indexed = indexedSource(findCandidates(index.columns, searchOf(deps, query, bounds, isAscending)));
  const young = recentSource(recent, query, bounds, isAscending);
  const sources = isAscending ? [indexed, young] : [young, indexed];
  return async (max) => {
    const found: Candidate[] = [];
    for (const source of sources) if (found.length < max) found.push(...(await source(max - found.length)));
    return found;
  };
}

/** Searches the index in short slices. */
function indexedSource(search: Iterator<number | undefined>): CandidateSource {
  return async (max) => {
    const found = await slices.collect(some(search, max));
    return found.filter((seq) => seq !== undefined).map((seq) => ({ seq }));
  };
}

function* some(search: Iterator<number | undefined>, max: number): Generator<number | undefined> {
  for (let count = 0; count < max;) {
    const { done, value } = search.next();
    if (done === true) return;
    if (value !== undefined) count += 1;
    yield value;
  }
}

function recentSource(
  recent: RecentEvents,
  query: EventQuery,
  bounds: SeqBounds,
  isAscending: boolean,
): CandidateSource {
  const isSelected = eventTest(query);
  const isRecent = (message: StoredMessage): boolean => {
    const event = readEvent(message);
    const isInside = message.seq > bounds.afterSeq && message.seq < bounds.beforeSeq;
    return isInside && event !== undefined && event.acceptedAtMs < query.toMs && isSelected(event);
  };
  const chunks = recent.chunks(bounds, isAscending)[Symbol.iterator]();
  const ready: Candidate[] = [];
  return async (max) => {
    while (ready.length < max) {
      const { done, value: read } = chunks.next();
      if (done === true) break;
      const own = (await read()).filter(isRecent).map((message) => ({ seq: message.seq, message }));
      ready.push(...(isAscending ? own : own.toReversed()));
    }
    return ready.splice(0, max);
  };
}

function searchOf(deps: IndexedDeps, query: EventQuery, bounds: SeqBounds, isAscending: boolean): EventSearch {
  const { tenants, type, fromMs, toMs } = query;
  return {
    isAscending,
    isTenant: (tenant) => includesTenant(tenants, tenant),
    isType: type === undefined ? () => true : compilePattern(type),
    fromMs,
    toMs,
    ...bounds,
    ...(asksForDeliveries(query) ? { delivery: deliverySearch(deps, query) } : {}),
  };
}

/** Kinds of the last row of a delivery in a state. A delivery that waits has retried, or has no row. */
const kindsOf: Readonly<Record<ListedState, readonly RowKind[]>> = {
  delivered: ["delivered", "handled"],
  rejected: ["rejected", "disabled"],
  dead: ["dead"],
  failed: ["rejected", "disabled", "dead"],
  in_delivery: ["retry"],
  held: ["retry"],
  not_routed: ["not_routed"],
};
const waitingStates: ReadonlySet<ListedState | undefined> = new Set(["in_delivery", "held", undefined]);
/** Reasons of a delivery that waits, or that was not created: its last row tells another reason or there is none. */
const heldReasons: ReadonlySet<string> = new Set<HeldReason | (typeof unconfiguredReasons)[number]>([
  "unresolved",
  "not_permitted",
  "conflicted",
  ...unconfiguredReasons,
]);
const kindsOfHeldReason: readonly RowKind[] = ["retry", "dead", "not_routed"];

function deliverySearch(deps: IndexedDeps, query: EventQuery): DeliverySearch {
  const { status, reason } = query;
  const kinds = kindsFor(query);
  const isReasonOfRow = reason !== undefined && !heldReasons.has(reason);
  return {
    isPartner: (partner) => isPartnerWanted(query, partner),
    ...(kinds === undefined ? {} : { kinds: new Set(kinds) }),
    ...(status === undefined ? {} : { isStatus: (one: number) => isWithin(status, one) }),
    ...(isReasonOfRow ? { reason } : {}),
    ...(mayWait(query)
      ? {
          waiting: (event) =>
            deps
              .table()
              .partnersFor(event)
              .map(({ label }) => label),
        }
      : {}),
  };
}

function kindsFor({ state, reason }: EventQuery): readonly RowKind[] | undefined {
  if (state !== undefined) return kindsOf[state];
  return reason !== undefined && heldReasons.has(reason) ? kindsOfHeldReason : undefined;
}

/** Whether a delivery without any row may match. */
function mayWait({ state, status, reason }: EventQuery): boolean {
  return waitingStates.has(state) && status === undefined && (reason === undefined || heldReasons.has(reason));
}
