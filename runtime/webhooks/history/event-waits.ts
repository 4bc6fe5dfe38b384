import { setMaxListeners } from "node:events";
import { pause, type Clock } from "../../../limits/clock.ts";
import { FairPlaces } from "../../../limits/fair-places.ts";
import { createSingleFlight } from "../../../limits/bounded-map.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { EventPage, EventQuery, EventReading } from "./event-list.ts";
import {
  createCandidateReads,
  listIndexed,
  readListView,
  type IndexedDeps,
  type ListView,
  type ReadCandidates,
} from "./indexed-list.ts";

/** Who waits, and for how long. */
export interface EventWait {
  /** Client key of the caller. */
  readonly client: string;
  readonly waitMs: number;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** Time between two looks. It also bounds how often one caller is answered. */
const lookMs = 500;
/** Requests that wait in this pod at most, shared fairly by the clients, and of one client. */
const waitingMax = 256;
const waitingOfClientMax = 64;
const retryAfterSeconds = 1;

/** What requests share at one moment. */
interface Look {
  readonly view: ListView;
  readonly read: ReadCandidates;
}

/** Requests of a pod that wait for events. They share one look at the streams, whatever their number. */
export function createEventWaits(deps: IndexedDeps & { readonly clock: Clock }) {
  const once = createSingleFlight<Look>();
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const places = new FairPlaces(waitingMax, waitingOfClientMax);
  const look = async (signal: AbortSignal): Promise<Look> => {
    await pause(deps.clock, lookMs, signal);
    return { view: await readListView(deps), read: sharedReads(createCandidateReads(deps)) };
  };
  const follow = async (query: EventQuery, { waitMs, signal }: EventWait): Promise<EventPage> => {
    const endsAtMs = deps.clock.nowMs() + waitMs;
    const either = AbortSignal.any([signal, ending.signal]);
    for (let afterSeq = query.afterSeq ?? 0; ;) {
      signal.throwIfAborted();
      const isOver = ending.signal.aborted || deps.clock.nowMs() + lookMs > endsAtMs;
      const next = isOver ? undefined : await once("look", look, either).catch(ignoreAbort(ending.signal));
      if (next === undefined) return { items: [], nextSeq: afterSeq };
      const { view, read } = next;
      const page = await listIndexed(deps, view, query, { afterSeq, beforeSeq: Infinity }, read);
      afterSeq = page.nextSeq ?? Math.max(afterSeq, view.newestSeq);
      if (page.items.length > 0) return { items: page.items, nextSeq: afterSeq };
    }
  };
  return {
    /**
     * The events after `afterSeq`: as soon as there are some, or none after the wait. The page always has a `nextSeq`.
     *
     * @throws ApiError `too_many_requests`; Error when JetStream does not respond
     */
    next: async (query: EventQuery, wait: EventWait) => {
      if (!places.tryTake(wait.client)) {
        const detail = "Too many requests are waiting for events; retry without wait, or with fewer waiting requests.";
        throw new ApiError("too_many_requests", detail, { retryAfterSeconds });
      }
      try {
        return await follow(query, wait);
      } finally {
        places.release(wait.client);
      }
    },
    /** Responds to all that wait, and every later one at once. */
    end: () => ending.abort(),
  };
}

/** Undefined after the end of the waits. @throws any other error */
function ignoreAbort(ended: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (!ended.aborted) throw error;
    return undefined;
  };
}

/** Reads each event once for all requests of one look. */
function sharedReads(read: ReadCandidates): ReadCandidates {
  const known = new Map<number, Promise<EventReading | undefined>>();
  return async (candidates) => {
    const missing = candidates.filter(({ seq }) => !known.has(seq));
    const all = read(missing);
    const readingAt = async (place: number): Promise<EventReading | undefined> => (await all)[place];
    missing.forEach(({ seq }, place) => known.set(seq, readingAt(place)));
    return Promise.all(candidates.map(async ({ seq }) => known.get(seq)));
  };
}
