import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { standingsOf, visibleSeq, waitingPartners, type HistoryDeps } from "./history.ts";
import type { DeliveryState } from "./delivery-histories.ts";
import { eventHash } from "../ids.ts";
import { isNarrowed, type PartnerAccess } from "./partner-access.ts";
import { readEvent, type StoredEvent } from "../records/event-record.ts";
import { compilePattern } from "../events/subscriptions.ts";
import { includesTenant, tenantToScan } from "../events/tenants.ts";

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
  readonly state?: DeliveryState;
  /** Last sequence of the previous page. @default the first page */
  readonly afterSeq?: number;
  readonly limit: number;
}

/** One event with the states of its deliveries. */
interface EventSummary {
  readonly event_id: string;
  readonly type: string;
  readonly tenant: string;
  /** ISO 8601 UTC. */
  readonly accepted_at: string;
  /** As in the history of the event. */
  readonly routed_at: string | null;
  readonly deliveries: readonly {
    readonly partner: string;
    readonly state: DeliveryState;
    readonly reason: string | null;
  }[];
}

export interface EventPage {
  readonly items: readonly EventSummary[];
  /** Sequence after which the next page begins; undefined at the end. */
  readonly nextSeq?: number;
}

const batchMax = 64;
/** Events that one request reads at most. The page then ends early, with the sequence to continue after. */
const readMax = 4_096;

/**
 * Lists events of some tenants that have a delivery to a partner of the caller, oldest first. Undefined when `afterId`
 * or `beforeId` names no such event.
 */
export async function listEvents(deps: HistoryDeps, query: EventQuery): Promise<EventPage | undefined> {
  const bounds = await boundsOf(deps, query);
  if (bounds === undefined) {
    return undefined;
  }
  const tenant = tenantToScan(query.tenants);
  const items: EventSummary[] = [];
  let lastSeq = bounds.afterSeq;
  for (let read = 0; read < readMax;) {
    const start = lastSeq === 0 ? { atMs: query.fromMs } : { seq: lastSeq + 1 };
    const messages = await deps.events.scan(tenant, start, batchMax);
    const inside = messages.filter(({ seq, storedAtMs }) => seq < bounds.beforeSeq && storedAtMs < query.toMs);
    for (const { item, seq } of await summariesOf(deps, query, inside)) {
      if (items.length === query.limit) {
        return { items, nextSeq: lastSeq };
      }
      items.push(...item);
      lastSeq = seq;
    }
    if (messages.length === 0 || inside.length < messages.length) {
      return { items };
    }
    read += messages.length;
  }
  return { items, nextSeq: lastSeq };
}

async function boundsOf(
  deps: HistoryDeps,
  query: EventQuery,
): Promise<{ readonly afterSeq: number; readonly beforeSeq: number } | undefined> {
  const { afterId, beforeId, afterSeq = 0 } = query;
  const seqOf = async (eventId: string | undefined, open: number): Promise<number | undefined> =>
    eventId === undefined ? open : visibleSeq(deps, eventId, query);
  const after = await seqOf(afterId, 0);
  const before = await seqOf(beforeId, Number.POSITIVE_INFINITY);
  return after === undefined || before === undefined
    ? undefined
    : { afterSeq: Math.max(after, afterSeq), beforeSeq: before };
}

/** The summaries of the messages, in order; empty for a message that the query excludes. */
async function summariesOf(
  deps: HistoryDeps,
  query: EventQuery,
  messages: readonly StoredMessage[],
): Promise<readonly { readonly seq: number; readonly item: readonly EventSummary[] }[]> {
  const isType = query.type === undefined ? () => true : compilePattern(query.type);
  const isSelected = ({ tenant, type, acceptedAtMs }: StoredEvent): boolean =>
    includesTenant(query.tenants, tenant) && isType(type) && acceptedAtMs >= query.fromMs;
  return Promise.all(
    messages.map(async (message) => {
      const event = readEvent(message);
      const summary = event !== undefined && isSelected(event) ? await summaryOf(deps, event, query) : undefined;
      return { seq: message.seq, item: summary !== undefined && isWanted(query, summary) ? [summary] : [] };
    }),
  );
}

async function summaryOf(deps: HistoryDeps, event: StoredEvent, access: PartnerAccess): Promise<EventSummary> {
  const waiting = await waitingPartners(deps, event);
  const stored = await deps.attempts.list(event.tenant, eventHash(event.eventId));
  const { routed_at: routedAt, deliveries } = standingsOf(stored, waiting, deps.now(), access);
  return {
    event_id: event.eventId,
    type: event.type,
    tenant: event.tenant,
    accepted_at: new Date(event.acceptedAtMs).toISOString(),
    routed_at: routedAt,
    deliveries: deliveries.map(({ partner, state, reason }) => ({ partner, state, reason })),
  };
}

function isWanted(query: EventQuery, { deliveries }: EventSummary): boolean {
  const { partner, state } = query;
  if (isNarrowed(query) && deliveries.length === 0) {
    return false;
  }
  if (partner === undefined && state === undefined) {
    return true;
  }
  return deliveries.some(
    (delivery) => (partner ?? delivery.partner) === delivery.partner && (state ?? delivery.state) === delivery.state,
  );
}
