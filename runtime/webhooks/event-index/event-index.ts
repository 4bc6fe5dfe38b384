import { setImmediate as nextRound } from "node:timers/promises";
import type { Clock } from "../../../limits/clock.ts";
import { createSingleFlight } from "../../../limits/bounded-map.ts";
import type { HeaderScan } from "../../nats/messages/header-scan.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { EventIndexStream } from "../../nats/streams/event-index-stream.ts";
import { IndexColumns } from "./columns.ts";
import { valueAt } from "./segments.ts";
import { decodeIndexMessage, type IndexMessage } from "./index-message.ts";

/** The rows of this pod at one moment. Rows are only added to the columns while they are in use. */
export interface IndexView {
  readonly columns: IndexColumns;
  /** Events accepted from this time on have all of their rows; Unix milliseconds, 0: every event that is stored. */
  readonly reachMs: number;
  /** Every attempt from this time on has a row; Unix milliseconds, 0: every attempt that was ever made. */
  readonly attemptsReachMs: number;
  /** Every attempt and event from this time on is in the rollups; Unix milliseconds. */
  readonly rollupsReachMs: number;
}

/** The index of events in this pod: loaded at the first use, and dropped when it is not used for a while. */
export interface EventIndex {
  /** Reads what was appended since. Concurrent calls share it. @throws Error when JetStream does not respond */
  read(): Promise<IndexView>;
}

interface EventIndexDeps {
  readonly stream: Pick<EventIndexStream, "state" | "open">;
  readonly attempts: Pick<AttemptsStream, "lastSeq">;
  readonly clock: Clock;
  /** @default 1,000,000 rows of each kind */
  readonly rowsMax?: number | undefined;
}

/** Rows that nobody requests are dropped after this time. */
const idleMs = 600_000;
/** Well below the time after which the server removes the consumer of a scan. */
const scanIdleMs = 30_000;
/** Messages of one read: a thousand rows each, 30 KB. */
const batchMax = 64;
/** Records that the index may lack while its writer works as usual. More of them are missing while it is made. */
const behindMax = 10_000;

/** What is loaded of one index stream. */
interface Loaded {
  readonly created: string;
  columns: IndexColumns;
  seq: number;
  number: number;
  attemptSeq: number;
  /** Rows of before this time were gone when the stream was read. */
  lostMs: number;
  sinceMs: number;
  scan: { readonly open: HeaderScan; readonly usedMs: number } | undefined;
}

/** Creates the index of a pod. It loads nothing before its first use. */
export function createEventIndex({ stream, attempts, clock, rowsMax }: EventIndexDeps): EventIndex {
  const once = createSingleFlight<IndexView>();
  let loaded: Loaded | undefined;
  let cancelDrop = (): void => undefined;
  const begin = (created: string): Loaded => {
    const columns = new IndexColumns(rowsMax);
    return { created, columns, seq: 0, number: 0, attemptSeq: 0, lostMs: 0, sinceMs: 0, scan: undefined };
  };
  const read = async (): Promise<IndexView> => {
    const state = await stream.state();
    cancelDrop();
    cancelDrop = clock.after(idleMs, () => void (loaded = undefined));
    if (state === undefined) {
      loaded = undefined;
      return absentView(new IndexColumns(rowsMax));
    }
    loaded = loaded?.created === state.created ? loaded : begin(state.created);
    const own = loaded;
    while (own.seq < state.lastSeq) {
      const messages = await nextMessages(stream, clock, own);
      for (const message of messages) {
        take(own, message, rowsMax);
        await nextRound();
      }
      if (messages.length < batchMax) break;
    }
    const isBehind = (await attempts.lastSeq()) - own.attemptSeq > behindMax;
    return own.number === 0 || isBehind ? absentView(own.columns) : viewOf(own);
  };
  return { read: () => once("read", read) };
}

async function nextMessages(
  stream: Pick<EventIndexStream, "open">,
  clock: Clock,
  loaded: Loaded,
): Promise<readonly StoredMessage[]> {
  const known = loaded.scan;
  // The scan stays undefined while it is used, so that one that failed is not used again.
  loaded.scan = undefined;
  const isFresh = known !== undefined && clock.nowMs() - known.usedMs < scanIdleMs;
  const open = isFresh ? known.open : await stream.open(loaded.seq + 1);
  const messages = await open.next(batchMax);
  loaded.scan = { open, usedMs: clock.nowMs() };
  return messages;
}

/** Adds the rows of a message. When messages before it are gone, the columns begin with it. */
function take(loaded: Loaded, { seq, data, storedAtMs }: StoredMessage, rowsMax: number | undefined): void {
  loaded.seq = seq;
  const message = decodeIndexMessage(data);
  if (message === undefined) return;
  if (message.number !== loaded.number + 1) {
    loaded.columns = new IndexColumns(rowsMax);
    loaded.lostMs = message.number === 1 ? 0 : latestOf(message, storedAtMs);
  }
  loaded.number = message.number;
  loaded.attemptSeq = message.attemptSeq;
  loaded.sinceMs = message.sinceMs;
  loaded.columns.rollups.advance(storedAtMs);
  for (const row of message.events) loaded.columns.addEvent(row);
  for (const row of message.attempts) loaded.columns.addAttempt(row);
}

/** A time before which rows may be gone. */
function latestOf({ events, attempts }: IndexMessage, storedAtMs: number): number {
  const times = [...events.slice(0, 1).map(({ atMs }) => atMs), ...attempts.slice(0, 1).map(endOf)];
  return times.length === 0 ? storedAtMs : Math.max(...times);
}

function endOf({ atMs, durationMs }: { readonly atMs: number; readonly durationMs: number }): number {
  return atMs + durationMs;
}

/** Columns that may lack any row. */
function absentView(columns: IndexColumns): IndexView {
  return { columns, reachMs: Infinity, attemptsReachMs: Infinity, rollupsReachMs: Infinity };
}

function viewOf({ columns, lostMs, sinceMs }: Loaded): IndexView {
  const attemptsMs = Math.max(lostMs, keptAttemptsMs(columns));
  const reachMs = Math.max(attemptsMs, keptEventsMs(columns));
  const rollupsReachMs = Math.max(lostMs, sinceMs, columns.rollups.droppedMs);
  return { columns, reachMs, attemptsReachMs: Math.max(attemptsMs, sinceMs), rollupsReachMs };
}

/** The time from which no event's row was dropped. */
function keptEventsMs({ events }: IndexColumns): number {
  const oldest = events.first === 0 ? undefined : events.find(events.first);
  return oldest === undefined ? 0 : valueAt(oldest.columns.atMs, oldest.at);
}

/** The time from which no attempt's row was dropped. */
function keptAttemptsMs({ attempts }: IndexColumns): number {
  const { columns, at = 0 } = (attempts.first === 0 ? undefined : attempts.find(attempts.first)) ?? {};
  if (columns === undefined) return 0;
  return endOf({ atMs: valueAt(columns.atMs, at), durationMs: valueAt(columns.durationMs, at) });
}
