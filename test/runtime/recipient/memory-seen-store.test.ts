import { describe, expect, test } from "vitest";
import {
  createMemorySeenStore,
  parseSeenRecord,
  readSeenStoreOptions,
  seenKey,
  seenRecordText,
  type OnceResult,
  type SeenStore,
} from "../../../runtime/recipient/seen-store.ts";

const hourMs = 3_600_000;
const nothing = async (): Promise<void> => {};

/** A store on a clock that the test moves. */
function storeOn(clock: { nowMs: number }, entriesMax?: number): SeenStore<undefined> {
  return createMemorySeenStore({ now: () => clock.nowMs, ...(entriesMax === undefined ? {} : { entriesMax }) });
}

async function fill(store: SeenStore<undefined>, ids: readonly string[]): Promise<readonly OnceResult[]> {
  const results: OnceResult[] = [];
  for (const id of ids) results.push(await store.once(id, "v1", nothing));
  return results;
}

describe("the memory store", () => {
  test("runs an effect once and then knows the event (Webhook Event Delivery §2.2, §6)", async () => {
    const store = storeOn({ nowMs: 1_000 });
    let effects = 0;
    const effect = async (): Promise<void> => {
      effects += 1;
    };
    expect(await store.find("e1")).toBeUndefined();
    expect(await store.once("e1", "v1", effect)).toBe("processed");
    expect(await store.once("e1", "v2", effect)).toBe("seen");
    expect(await store.find("e1")).toEqual({ status: "ok", processedAtMs: 1_000, handlerVersion: "v1" });
    expect(effects).toBe(1);
  });

  test("keeps a failure as an error, which the next attempt overwrites", async () => {
    const store = storeOn({ nowMs: 1_000 });
    await expect(store.once("e1", "v1", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await store.find("e1")).toEqual({ status: "error", processedAtMs: 1_000, handlerVersion: "v1" });
    expect(await store.once("e1", "v2", nothing)).toBe("processed");
    expect(await store.find("e1")).toMatchObject({ status: "ok", handlerVersion: "v2" });
  });

  test("runs one of two copies that come together", async () => {
    const store = storeOn({ nowMs: 0 });
    const gate = Promise.withResolvers<void>();
    const first = store.once("e1", "v1", () => gate.promise);
    expect(await store.once("e1", "v1", nothing)).toBe("busy");
    expect(await store.once("e2", "v1", nothing)).toBe("processed");
    gate.resolve();
    expect(await first).toBe("processed");
  });

  test("remembers for 8 days and no longer (Webhook Event Delivery §8)", async () => {
    const clock = { nowMs: 0 };
    const store = storeOn(clock);
    await fill(store, ["e1"]);
    clock.nowMs = 8 * 24 * hourMs - 1;
    expect(await fill(store, ["e1"])).toEqual(["seen"]);
    clock.nowMs += 1;
    expect(await store.find("e1")).toBeUndefined();
    expect(await fill(store, ["e1"])).toEqual(["processed"]);
  });

  test("refuses a time of less than a day (Webhook Event Delivery §8)", () => {
    expect(() => createMemorySeenStore({ ttlSeconds: 86_399 })).toThrow(RangeError);
  });

  test("replaces events that are a day old", async () => {
    const clock = { nowMs: 0 };
    const store = storeOn(clock, 2);
    await fill(store, ["e1"]);
    clock.nowMs = hourMs;
    await fill(store, ["e2"]);
    clock.nowMs = 24 * hourMs;
    expect(await fill(store, ["e3"])).toEqual(["processed"]);
    expect(await fill(store, ["e2"])).toEqual(["seen"]);
    expect(await store.find("e1")).toBeUndefined();
  });

  test("counts the day from the last attempt that marked the event", async () => {
    const clock = { nowMs: 0 };
    const store = storeOn(clock, 3);
    await expect(store.once("e1", "v1", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    clock.nowMs = hourMs;
    await fill(store, ["e2"]);
    clock.nowMs = 2 * hourMs;
    await fill(store, ["e1", "e3"]);
    clock.nowMs = 25 * hourMs;
    expect(await fill(store, ["e4", "e1"])).toEqual(["processed", "seen"]);
    expect(await store.find("e2")).toBeUndefined();
  });

  test("returns full rather than drop an event younger than a day", async () => {
    const clock = { nowMs: 0 };
    const store = storeOn(clock, 2);
    await fill(store, ["e1", "e2"]);
    clock.nowMs = 24 * hourMs - 1;
    expect(await fill(store, ["e3", "e1", "e2"])).toEqual(["full", "seen", "seen"]);
  });

  test("counts what is under way", async () => {
    const store = storeOn({ nowMs: 0 }, 1);
    const gate = Promise.withResolvers<void>();
    const first = store.once("e1", "v1", () => gate.promise);
    expect(await store.once("e2", "v1", nothing)).toBe("full");
    gate.resolve();
    expect(await first).toBe("processed");
  });
});

describe("the record of an event", () => {
  test("keeps the text that the effect returned, for a repeat", async () => {
    const store = storeOn({ nowMs: 0 });
    await store.once("e1", "v1", async () => "42");
    expect(await store.find("e1")).toMatchObject({ status: "ok", outcome: "42" });
  });

  test.each([
    { status: "ok", processedAtMs: 1_767_323_045_678, handlerVersion: "v1" },
    { status: "error", processedAtMs: 0, handlerVersion: "", outcome: "{}" },
  ] as const)("has the names of the seed as JSON (Webhook Event Delivery §2.2)", (record) => {
    const text = seenRecordText(record);
    expect(JSON.parse(text)).toMatchObject({
      status: record.status,
      processed_at: new Date(record.processedAtMs).toISOString(),
      handler_version: record.handlerVersion,
    });
    expect(parseSeenRecord(text)).toEqual(record);
  });

  test.each(["", "null", "7", "{}", '{"status":"claimed"}', '{"status":"ok","handler_version":"1"}'])(
    "is not read from the text %j",
    (text) => {
      expect(parseSeenRecord(text)).toBeUndefined();
    },
  );

  test("has a key of its own for each use of a store", async () => {
    const { keyOf } = readSeenStoreOptions({ keyPrefix: "idempotency:callback:" });
    expect(keyOf("a")).toBe("idempotency:callback:a");
    expect(readSeenStoreOptions({}).keyOf("evt_1")).toBe(seenKey("evt_1"));
  });
});

describe("the key of an event", () => {
  test("is the seed's (Webhook Event Delivery §2.2)", () => {
    expect(seenKey("evt_1")).toBe("idempotency:event:evt_1");
  });
});
