import {
  readSeenStoreOptions,
  seenSecondsMin,
  type SeenRecord,
  type SeenStore,
  type SeenStoreOptions,
} from "./seen-store.ts";

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
