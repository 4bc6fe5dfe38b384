import { seenKey, seenSecondsMin, type SeenRecord, type SeenStore } from "./seen-store.ts";

export interface MemorySeenStoreOptions {
  /** Seconds for which an event is remembered. @default 691200 (8 days, longer than a sender retries) */
  readonly ttlSeconds?: number;
  /** Events remembered at most. @default 1000000 */
  readonly entriesMax?: number;
  /** Unix milliseconds. @default the system's clock */
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
  ttlSeconds = 691_200,
  entriesMax = 1_000_000,
  now = Date.now,
}: MemorySeenStoreOptions = {}): SeenStore<undefined> {
  if (ttlSeconds < seenSecondsMin) {
    throw new RangeError(`Events are remembered for at least ${seenSecondsMin} seconds`);
  }
  // In order of time, since marking moves a record to the end.
  const records = new Map<string, SeenRecord>();
  const underWay = new Set<string>();

  const mark = (key: string, status: SeenRecord["status"], handlerVersion: string): void => {
    records.delete(key);
    records.set(key, { status, processedAtMs: now(), handlerVersion });
  };

  const fresh = (key: string): SeenRecord | undefined => {
    const record = records.get(key);
    return record !== undefined && ageSeconds(record, now()) < ttlSeconds ? record : undefined;
  };

  return {
    find: async (eventId) => fresh(seenKey(eventId)),
    once: async (eventId, handlerVersion, effect) => {
      const key = seenKey(eventId);
      if (fresh(key)?.status === "ok") {
        return "seen";
      }
      if (underWay.has(key)) {
        return "busy";
      }
      if (!makeRoom(records, entriesMax - underWay.size, ttlSeconds, now())) {
        return "full";
      }
      underWay.add(key);
      try {
        await effect(undefined);
        mark(key, "ok", handlerVersion);
        return "processed";
      } catch (error) {
        mark(key, "error", handlerVersion);
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
    if (!isExpired && (records.size < entriesMax || !mayGo)) {
      break;
    }
    records.delete(key);
  }
  return records.size < entriesMax;
}
