import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { visibleSeq, type HistoryDeps } from "./history.ts";
import { readEvent } from "../records/event-record.ts";
import { tenantToScan } from "../events/tenants.ts";
import { eventTest, isWanted, type EventQuery } from "./event-query.ts";
import { readDeliveries, summaryOf, type EventSummary } from "./event-summary.ts";

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
      if (items.length === query.limit) {
        return { items, nextSeq: lastSeq, lastSeq };
      }
      items.push(...item);
      lastSeq = seq;
    }
    if (messages.length === 0 || inside.length < messages.length) {
      return { items, lastSeq };
    }
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
