import { ApiRefusal } from "../api/api-error.ts";
import type { ApiConnection } from "../api/connection.ts";
import { sendForJson, type ApiRequest } from "../api/request.ts";
import type { EventSummary } from "./event-forms.ts";
import { paused, whileAway, type Patience } from "./while-away.ts";

/** Where a follower is. */
export interface Place {
  /** Time of acceptance to begin at. */
  readonly from: string;
  /** Last event that was taken; events after it follow. */
  readonly afterId?: string;
  /** Cursor of the server; nothing before it is left. */
  readonly cursor?: string;
}

interface FollowOptions extends Patience {
  readonly query: NonNullable<ApiRequest["query"]>;
  readonly start: Place;
  /** @default 1 s between reads of a list without new events */
  readonly pollMs?: number;
}

interface Page {
  readonly data: readonly EventSummary[];
  readonly meta: { readonly cursor: string | null };
}

const pageItems = 100;
const pollMsDefault = 1_000;

/**
 * Yields the events after a place, and new ones as they are accepted, until an abort. It waits for a server that is
 * away and continues at its place. @throws ApiRefusal that no repetition heals
 */
export async function* followEvents(
  connection: ApiConnection,
  { query, start, pollMs = pollMsDefault, ...patience }: FollowOptions,
): AsyncGenerator<readonly EventSummary[]> {
  let place = start;
  for (;;) {
    const page = await whileAway(() => readPage(connection, query, place, patience.signal), patience);
    if (page === undefined) return;
    if (page === "gone") place = { from: place.from };
    else {
      const { data, meta } = page;
      place = placeAfter(place, data, meta.cursor);
      if (data.length > 0) yield data;
      if (meta.cursor === null) await paused(pollMs, patience.signal);
    }
  }
}

/** `gone` when the event that the place follows was removed from the stream, so that its time takes its place. */
async function readPage(
  connection: ApiConnection,
  query: FollowOptions["query"],
  { from, afterId, cursor }: Place,
  signal: AbortSignal,
): Promise<Page | "gone"> {
  const begin = afterId === undefined ? { from } : { after_id: afterId };
  const asked = { path: "/webhooks/events", query: { ...query, ...begin, cursor, limit: pageItems }, signal };
  try {
    return await sendForJson<Page>(connection, asked);
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === "event_not_found" && afterId !== undefined) return "gone";
    throw error;
  }
}

function placeAfter(place: Place, events: readonly EventSummary[], cursor: string | null): Place {
  const last = events.at(-1);
  const after = last === undefined ? place : { ...place, ...placeOf(last) };
  return cursor === null ? after : { ...after, cursor };
}

/** The place after an event. */
export function placeOf({ accepted_at: from, event_id: afterId }: EventSummary): Place {
  return { from, afterId };
}
