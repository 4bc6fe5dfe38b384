/** A recipient's record of an event. Source: seed "Webhook Event Delivery" §2.2. */
export interface SeenRecord {
  /** Only `ok` counts as seen; an `error` is overwritten by the next attempt. */
  readonly status: "ok" | "error";
  /** Unix milliseconds. */
  readonly processedAtMs: number;
  /** Version of the code that processed the event. */
  readonly handlerVersion: string;
  /** The text that the effect returned, for a repeat that needs the same response. @default none */
  readonly outcome?: string;
}

/**
 * - `processed`: the effect ran and the event is marked.
 * - `seen`: the event had its effect before; nothing ran.
 * - `busy`: another copy is being processed now; nothing ran.
 * - `full`: there is no room to remember one more event; nothing ran.
 */
export type OnceResult = "processed" | "seen" | "busy" | "full";

/** The effect of an event. A text that it returns is kept with the mark as {@link SeenRecord.outcome}. */
export type Effect<Transaction> = (transaction: Transaction) => Promise<string | void>;

/**
 * Remembers which events had their effect, each for at least a day. `Transaction` is what the effect needs to be
 * atomic with the mark, for example a database client inside an open transaction.
 *
 * A store without transactions claims the event, runs the effect and then marks it. The claim is a lease. When the
 * process ends between effect and mark, the lease expires and the next copy runs the effect again. That effect must
 * tolerate a repeat, for example by a unique key. `Transaction` can hold a number that grows with each claim.
 */
export interface SeenStore<Transaction> {
  /** The record of an event, or undefined when there is none any more. A claim is no record. */
  find(eventId: string): Promise<SeenRecord | undefined>;
  /**
   * In one transaction: checks again, runs the effect, marks the event `ok`, commits. If the effect throws, everything
   * is undone, the event is marked `error` and the error is thrown on. Source: seed "Webhook Event Delivery" §3.
   */
  once(eventId: string, handlerVersion: string, effect: Effect<Transaction>): Promise<OnceResult>;
}

/** Options of every store. */
export interface SeenStoreOptions {
  /** Beginning of the keys. Each use of one database needs its own. @default "idempotency:event:" */
  readonly keyPrefix?: string;
  /** Seconds for which an event is remembered. @default 691200 (8 days, longer than a sender retries) */
  readonly ttlSeconds?: number;
}

/** Shortest time that an event may be remembered, in seconds. Source: seed "Webhook Event Delivery" §8. */
export const seenSecondsMin = 86_400;

const seenSecondsDefault = 691_200;
const seenKeyPrefix = "idempotency:event:";

/** Reads the options of a store. @throws RangeError when the time is shorter than a day */
export function readSeenStoreOptions({
  keyPrefix = seenKeyPrefix,
  ttlSeconds = seenSecondsDefault,
}: SeenStoreOptions): {
  readonly keyOf: (eventId: string) => string;
  readonly ttlSeconds: number;
} {
  if (!(ttlSeconds >= seenSecondsMin))
    throw new RangeError(`ttlSeconds is ${ttlSeconds}; events are remembered for at least ${seenSecondsMin} seconds`);
  return { keyOf: (eventId) => keyPrefix + eventId, ttlSeconds };
}

/** Key of an event's record in stores that have keys. Source: seed "Webhook Event Delivery" §2.2. */
export function seenKey(eventId: string): string {
  return seenKeyPrefix + eventId;
}

/** A record as JSON with the names of the seed. Source: seed "Webhook Event Delivery" §2.2. */
export function seenRecordText({ status, processedAtMs, handlerVersion, outcome }: SeenRecord): string {
  const processed_at = new Date(processedAtMs).toISOString();
  return JSON.stringify({ status, processed_at, handler_version: handlerVersion, outcome });
}

/** Reads the JSON of {@link seenRecordText}; undefined for any other text, such as a claim. */
export function parseSeenRecord(text: string): SeenRecord | undefined {
  const { status, processed_at, handler_version, outcome } = membersOf(text);
  if ((status !== "ok" && status !== "error") || typeof handler_version !== "string") return undefined;
  const processedAtMs = Date.parse(String(processed_at));
  if (Number.isNaN(processedAtMs)) return undefined;
  const kept = typeof outcome === "string" ? { outcome } : {};
  return { status, processedAtMs, handlerVersion: handler_version, ...kept };
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

export interface MemorySeenStoreOptions extends SeenStoreOptions {
  /** Events remembered at most. @default 1000000 */
  readonly entriesMax?: number;
  /** Unix milliseconds. @default the time at the start of the process and a monotonic clock, which no step moves */
  readonly now?: () => number;
}

/**
 * Stores seen events in the memory of one process. This is enough for a single process whose effects are also lost in a
 * restart.
 * When it is full, it replaces the oldest event that is a day old or that failed. Without one it returns `full`, since
 * a second effect would be possible.
 * @throws RangeError when the time is shorter than a day
 */
export function createMemorySeenStore({
  entriesMax = 1_000_000,
  now = () => Math.round(performance.timeOrigin + performance.now()),
  ...common
}: MemorySeenStoreOptions = {}): SeenStore<undefined> {
  const { keyOf, ttlSeconds } = readSeenStoreOptions(common);
  // In order of time, since marking moves a record to the end.
  const records = new Map<string, SeenRecord>();
  const underWay = new Set<string>();

  const mark = (key: string, record: Omit<SeenRecord, "processedAtMs">): void => {
    records.delete(key);
    records.set(key, { ...record, processedAtMs: now() });
  };

  const fresh = (key: string): SeenRecord | undefined => {
    const record = records.get(key);
    return record !== undefined && ageSeconds(record, now()) < ttlSeconds ? record : undefined;
  };

  return {
    find: async (eventId) => fresh(keyOf(eventId)),
    once: async (eventId, handlerVersion, effect) => {
      const key = keyOf(eventId);
      if (fresh(key)?.status === "ok") return "seen";
      if (underWay.has(key)) return "busy";
      if (!makeRoom(records, entriesMax - underWay.size, ttlSeconds, now())) return "full";
      underWay.add(key);
      try {
        const outcome = await effect(undefined);
        mark(key, { status: "ok", handlerVersion, ...(typeof outcome === "string" ? { outcome } : {}) });
        return "processed";
      } catch (error) {
        mark(key, { status: "error", handlerVersion });
        throw error;
      } finally {
        underWay.delete(key);
      }
    },
  };
}

function ageSeconds(record: SeenRecord, nowMs: number): number {
  return (nowMs - record.processedAtMs) / 1_000;
}

/** Drops what is too old, and the oldest that may go if there is still no room. Returns whether there is room. */
function makeRoom(records: Map<string, SeenRecord>, entriesMax: number, ttlSeconds: number, nowMs: number): boolean {
  for (const [key, record] of records) {
    const isExpired = ageSeconds(record, nowMs) >= ttlSeconds;
    const mayGo = record.status === "error" || ageSeconds(record, nowMs) >= seenSecondsMin;
    if (!isExpired && (records.size < entriesMax || !mayGo)) break;
    records.delete(key);
  }
  return records.size < entriesMax;
}
