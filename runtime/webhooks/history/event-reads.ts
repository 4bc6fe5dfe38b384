import type { EventIdUse } from "../../../api/events.ts";
import { orEventsUnavailable, ApiError } from "../../errors/api-error.ts";
import { boundsOf, scanEvents, type EventPage, type EventQuery } from "./event-list.ts";
import type { PartnerExplanation } from "../../../api/partner-health.ts";
import {
  declarationOf,
  explainEvent,
  type ExplainCaller,
  type ExplainDeps,
  type ExplainedEvent,
  type ExplainQuery,
} from "./explain-event.ts";
import { createEventWaits, type EventWait } from "./event-waits.ts";
import type { HistoryView } from "./history-view.ts";
import { readDeliveryStats, type DeliveryStatsQuery } from "./delivery-stats.ts";
import { readHistory } from "./history.ts";
import { listIndexed, readListView, type IndexedDeps } from "./indexed-list.ts";
import { readPartnerStats, type PartnerStatsQuery } from "./partner-stats.ts";
import type { Clock } from "../../../limits/clock.ts";
import { parseEvent } from "../../nats/layout.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import { eventHash } from "../ids.ts";
import { readEvent, type TakenNote } from "../records/event-record.ts";

/**
 * The reads of stored events for callers. Each throws an ApiError `events_unavailable` when JetStream does not respond.
 */
export type EventReads = ReturnType<typeof createEventReads>;

interface EventIdUseDeps {
  readonly events: Pick<EventsStream, "findEach">;
  readonly attempts: Pick<AttemptsStream, "lastOfEach">;
}

export function createEventReads(
  deps: IndexedDeps & Pick<ExplainDeps, "partners" | "notApplied" | "declared"> & { readonly clock: Clock },
) {
  const waits = createEventWaits(deps);
  const explainDeps = { ...deps, configuration: () => deps.table().configuration };
  return {
    /**
     * An event with its deliveries. Undefined when none of these tenants (`*`: any) has it, or the view shows none of
     * its deliveries.
     * @param query explains a page of partners. @default none
     */
    event: (eventId: string, tenants: readonly string[], view?: HistoryView, query?: ExplainQuery) => {
      const explain = (explained: ExplainedEvent) =>
        query && explainEvent(explainDeps, explained, { ...view, tenants }, query);
      return orEventsUnavailable(() => readHistory(deps, eventId, tenants, view, explain));
    },
    /** What becomes of an event that is not stored. @param query explains a page of partners. @default none */
    dryRun: async (
      { event, isDuplicate }: Pick<ExplainedEvent, "event"> & NonNullable<ExplainedEvent["dryRun"]>,
      caller: ExplainCaller,
      query?: ExplainQuery,
    ) => {
      const declaration = declarationOf(explainDeps, event);
      if (query === undefined) return { declaration, explanation: null };
      const explained = { event, hidden: [], deliveries: [], routedBy: undefined, dryRun: { isDuplicate } };
      const explanation = explainEvent(explainDeps, explained, caller, query);
      const partners = await orEventsUnavailable(() => withBlocks(deps, explanation.partners));
      return { declaration, explanation: { ...explanation, partners } };
    },
    /** Events of some tenants. @throws ApiError `event_not_found` */
    events: async (query: EventQuery) => {
      const list = query.order === "desc" ? listNewest : listOldest;
      const page = await orEventsUnavailable(() => list(deps, query));
      if (page === undefined) {
        throw new ApiError(
          "event_not_found",
          "The event that bounds the list does not exist or is not visible to this caller.",
        );
      }
      return page;
    },
    /** The events after `query.afterSeq`, waiting for the first of them. @throws ApiError `too_many_requests` */
    nextEvents: (query: EventQuery, wait: EventWait) => orEventsUnavailable(() => waits.next(query, wait)),
    /** Figures of a partner that the caller may see. */
    partnerStats: (query: PartnerStatsQuery) => orEventsUnavailable(() => readPartnerStats(deps.index, query)),
    /** Figures of deliveries by time, and by partner or tenant; undefined if there would be too many rows. */
    deliveryStats: (query: DeliveryStatsQuery) => orEventsUnavailable(() => readDeliveryStats(deps.index, query)),
    /** Responds to all requests that wait, and later ones at once. */
    endWaits: () => waits.end(),
    /** The tenants, among these, that have an event id or were denied it; undefined for none. */
    eventIdUse: (eventId: string, tenants: readonly string[]) =>
      orEventsUnavailable(() => readEventIdUse(deps, eventId, tenants)),
  };
}

/** Adds what keeps deliveries waiting, for partners that would get an event. */
function withBlocks(
  { partners, findCachedBlock }: Pick<IndexedDeps, "findCachedBlock"> & Pick<ExplainDeps, "partners">,
  explained: readonly PartnerExplanation[],
): Promise<readonly PartnerExplanation[]> {
  const byLabel = new Map(partners().map((partner) => [partner.label, partner]));
  const all = explained.map(async (one) => {
    const partner = one.reason === "would_be_routed" ? byLabel.get(one.partner) : undefined;
    const block = partner === undefined ? undefined : await findCachedBlock?.(partner);
    return block === undefined ? one : { ...one, state: block.kind };
  });
  return Promise.all(all);
}

/**
 * Lists events, the oldest first. Events that are older than the rows of the index are read from the stream. Undefined
 * when `afterId` or `beforeId` names an event that the caller may not see.
 */
async function listOldest(deps: IndexedDeps, query: EventQuery): Promise<EventPage | undefined> {
  const bounds = await boundsOf(deps, query);
  if (bounds === undefined) return undefined;
  const view = await readListView(deps);
  if (view.reachMs <= query.fromMs) return listIndexed(deps, view, query, bounds);
  const toMs = Math.min(query.toMs, view.reachMs);
  const { lastSeq: afterSeq, ...older } = await scanEvents(deps, { ...query, toMs }, bounds);
  if (older.nextSeq !== undefined) return older;
  const limit = query.limit - older.items.length;
  const { items, ...rest } = await listIndexed(deps, view, { ...query, limit }, { ...bounds, afterSeq });
  return { ...rest, items: [...older.items, ...items] };
}

/** Lists events, the newest first. Undefined as in {@link listOldest}. */
async function listNewest(deps: IndexedDeps, query: EventQuery): Promise<EventPage | undefined> {
  const bounds = await boundsOf(deps, query);
  if (bounds === undefined) return undefined;
  const view = await readListView(deps);
  const page = await listIndexed(deps, view, query, bounds);
  return { ...page, newest: { seq: view.newestSeq, isComplete: view.reachMs <= query.fromMs } };
}

/** The use of an id by these tenants (`*`: by all); undefined when none of them uses it. */
export async function readEventIdUse(
  deps: EventIdUseDeps,
  eventId: string,
  tenants: readonly string[],
): Promise<EventIdUse | undefined> {
  const idhash = eventHash(eventId);
  const [stored, records] = await Promise.all([
    deps.events.findEach(tenants, idhash),
    deps.attempts.lastOfEach(tenants, idhash),
  ]);
  const events = stored.flatMap((message) => readEvent(message) ?? []).toSorted((a, b) => a.seq - b.seq);
  const rejected = records.flatMap((message) => rejectionOf(message));
  if (events.length === 0 && rejected.length === 0) return undefined;
  return {
    event_id: eventId,
    events: events.map(({ tenant, type, acceptedAtMs }) => ({
      tenant,
      type,
      accepted_at: new Date(acceptedAtMs).toISOString(),
    })),
    refused: rejected.toSorted((a, b) => a.at.localeCompare(b.at)),
  };
}

function rejectionOf({ subject, data }: StoredMessage): EventIdUse["refused"] {
  const { tenant = "" } = parseEvent(subject) ?? {};
  const note = JSON.parse(Buffer.from(data).toString()) as Partial<TakenNote> | null;
  const { kind, holder = "", at = "" } = note ?? {};
  return kind === "id_taken" ? [{ tenant, held_by: holder, at }] : [];
}
