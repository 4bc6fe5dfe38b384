import type { EventPage, EventSummary } from "../../api/histories.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { HttpError } from "../api/http-error.ts";
import type { ApiConnection } from "../api/connection.ts";
import { type ApiRequest, sendForJson } from "../api/request.ts";
import { CommandError } from "../command-line/command.ts";

/** Where a follower is. */
export interface FollowPosition {
  /** Time of acceptance to begin at. */
  readonly from: string;
  /** Last event that was taken; events after it follow. */
  readonly afterId?: string;
  /** Cursor of the server; nothing before it is left. */
  readonly cursor?: string;
}

interface FollowOptions extends Patience {
  readonly query: NonNullable<ApiRequest["query"]>;
  readonly start: FollowPosition;
  /** @default 1 s between reads of a list without new events */
  readonly pollMs?: number;
}

const pageItems = 100;
const pollMsDefault = 1_000;

export interface Patience {
  readonly signal: AbortSignal;
  /** Notes about a lost connection. */
  readonly onNote: (note: string) => void;
}

const waitMsMin = 500;
const waitMsMax = 10_000;

/**
 * Yields the events after a place, and new ones as they are accepted, until an abort. It waits for a server that is
 * away and continues at its place. @throws ApiApiError that no repetition heals
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
  { from, afterId, cursor }: FollowPosition,
  signal: AbortSignal,
): Promise<EventPage | "gone"> {
  const begin = afterId === undefined ? { from } : { after_id: afterId };
  const request = { path: "/webhooks/events", query: { ...query, ...begin, cursor, limit: pageItems }, signal };
  try {
    return await sendForJson<EventPage>(connection, request);
  } catch (error) {
    if (error instanceof HttpError && error.code === "event_not_found" && afterId !== undefined) return "gone";
    throw error;
  }
}

function placeAfter(place: FollowPosition, events: readonly EventSummary[], cursor: string | null): FollowPosition {
  const last = events.at(-1);
  const after = last === undefined ? place : { ...place, ...placeOf(last) };
  return cursor === null ? after : { ...after, cursor };
}

/** The place after an event. */
export function placeOf({ accepted_at: from, event_id: afterId }: EventSummary): FollowPosition {
  return { from, afterId };
}

/**
 * Repeats a read while the server is unavailable or has no time, without end.
 * @returns undefined after an abort
 * @throws the error that no repetition heals
 */
export async function whileAway<T>(read: () => Promise<T>, { signal, onNote }: Patience): Promise<T | undefined> {
  for (let waitMs = 0; ; waitMs = Math.min(Math.max(waitMs * 2, waitMsMin), waitMsMax)) {
    await paused(waitMs, signal);
    if (signal.aborted) return undefined;
    try {
      const result = await read();
      if (waitMs > 0) onNote("reconnected");
      return result;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof CommandError) || !isAway(error)) throw error;
      if (waitMs === 0) onNote(`${error.message}; trying again`);
    }
  }
}

/** Waits for a time, or until an abort. */
async function paused(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => undefined);
}

function isAway(error: CommandError): boolean {
  if (error instanceof HttpError) return error.status === 429 || error.status >= 500;
  return error.exit === "unreachable";
}
