import { expect, test } from "vitest";
import { answerOnce, callbackKey } from "../../../runtime/recipient/callbacks.ts";
import {
  createMemorySeenStore,
  parseSeenRecord,
  readSeenStoreOptions,
  seenKey,
  seenRecordText,
  type SeenRecord,
} from "../../../runtime/recipient/seen-store.ts";
import { openNatsSeenStore, type NatsBucket } from "../../../runtime/recipient/stores/nats-seen-store.ts";
import { createPostgresSeenStore, postgresSeenSchema } from "../../../runtime/recipient/stores/postgres-seen-store.ts";
import { createRedisSeenStore } from "../../../runtime/recipient/stores/redis-seen-store.ts";
import { readPinned } from "./pinned-text.ts";

/** What recipients keep in their databases: versions of the kit run beside each other, and read each other's marks. */

const pinned = readPinned("recipient-marks.txt");
const eventId = "evt_1/ü";
const processedAtMs = Date.parse("2026-01-02T03:04:05.678Z");
const marks: Readonly<Record<string, SeenRecord>> = {
  "mark of an event": { status: "ok", processedAtMs, handlerVersion: "v1" },
  "mark with an outcome": { status: "ok", processedAtMs, handlerVersion: "v1", outcome: '{"status":201}' },
  "mark of a failure": { status: "error", processedAtMs, handlerVersion: "v1" },
};
const effect = async (): Promise<string> => "done";
/** The store of a test cannot set the time of a mark. */
const withoutTime = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, "<time>");

test("the key and the record of an event have these bytes", () => {
  const records = Object.entries(marks).map(([name, record]) => [name, seenRecordText(record)]);
  const written = { ...Object.fromEntries(records), "key of an event": seenKey(eventId) };
  expect(readSeenStoreOptions({}).keyOf(eventId)).toBe(seenKey(eventId));
  expect(pinned).toMatchObject(written);
});

test.each(Object.entries(marks))("what was written is read as it was meant: %s", (name, record) => {
  expect(parseSeenRecord(pinned[name] ?? "")).toEqual(record);
});

test("Redis gets these commands", async () => {
  const sent: string[] = [];
  const store = createRedisSeenStore({
    send: async (command) => {
      sent.push(withoutTime(command.map((word) => word.trim()).join("\n")));
      return 1;
    },
  });
  await store.once(eventId, "v1", effect);
  expect({ claim: sent[0], mark: sent[1] }).toEqual({ claim: pinned["claim in Redis"], mark: pinned["mark in Redis"] });
});

test("NATS gets these keys and values", async () => {
  const sent: string[] = [];
  const bucket: NatsBucket = {
    get: async () => null,
    create: async (...words) => sent.push(words.join("\n")),
    update: async (...words) => sent.push(withoutTime(words.join("\n"))),
    delete: async () => undefined,
    status: async () => ({ bucket: "seen", ttl: 691_200_000, markerTTL: 60_000 }),
  };
  await (await openNatsSeenStore({ bucket })).once(eventId, "v1", effect);
  expect({ claim: sent[0], mark: sent[1] }).toEqual({ claim: pinned["claim in NATS"], mark: pinned["mark in NATS"] });
});

test("Postgres has this table, and rows with this key", async () => {
  const keys = new Set<unknown>();
  const connect = async () => ({
    query: async (_text: string, [key]: unknown[] = []) => {
      if (key !== undefined) keys.add(key);
      return { rows: [{ free: true, marked: true }] };
    },
    release: () => undefined,
  });
  await createPostgresSeenStore({ connect }).once(eventId, "v1", effect);
  expect([...keys]).toEqual([pinned["key of an event"]]);
  expect(postgresSeenSchema.trimEnd()).toBe(pinned["table in Postgres"]);
});

test("the answer to a callback is kept under this name in these bytes", async () => {
  const kept: Record<string, string | undefined> = {};
  const memory = createMemorySeenStore();
  const store: typeof memory = {
    ...memory,
    once: async (id, version, work) => {
      const result = await memory.once(id, version, work);
      kept[id] = (await memory.find(id))?.outcome;
      return result;
    },
  };
  const headers = { "idempotency-key": callbackKey({ event_id: "evt_1" }, "refund") };
  const request = { caller: "acme", method: "POST", target: "/refunds", headers, body: Buffer.from("{}") };
  await answerOnce(request, { store, handlerVersion: "v1" }, async () => ({ status: 201, body: { refund: 1 } }));
  const [[name, outcome] = []] = Object.entries(kept);
  expect({ key: headers["idempotency-key"], name, outcome }).toEqual({
    key: pinned["key of a callback"],
    name: pinned["name of a callback's record"],
    outcome: pinned["outcome of a callback"],
  });
});
