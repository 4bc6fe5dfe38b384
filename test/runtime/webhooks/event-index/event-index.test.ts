import { expect, test } from "vitest";
import type { ScannedMessage } from "../../../../runtime/nats/messages/header-scan.ts";
import { createEventIndex } from "../../../../runtime/webhooks/event-index/event-index.ts";
import {
  encodeIndexMessage,
  type IndexMessage,
  type AttemptRow,
  type EventRow,
  type RowKind,
} from "../../../../runtime/webhooks/event-index/index-message.ts";
import { findCandidates } from "../../../../runtime/webhooks/event-index/search.ts";
import { segmentRows, createTextNumbers } from "../../../../runtime/webhooks/event-index/segments.ts";
import { readPartnerStats } from "../../../../runtime/webhooks/history/partner-stats.ts";
import { pingType } from "../../../../runtime/webhooks/events/envelope.ts";
import { ManualClock } from "../../../support/manual-clock.ts";

const eventRow = (seq: number): EventRow => {
  return { seq, atMs: seq, high: seq, low: seq * 7, tenant: "acme", type: "a.b", producer: "", about: "" };
};

/** A stream of the index that holds these messages. */
function streamOf(messages: readonly IndexMessage[], clock: ManualClock) {
  const scans = { opened: 0 };
  const stored = messages.map((message, place): ScannedMessage => {
    return {
      subject: "hg.idx",
      seq: place + 1,
      storedAtMs: 0,
      headers: {},
      header: () => undefined,
      data: encodeIndexMessage(message),
    };
  });
  const open = async (fromSeq: number) => {
    let next = fromSeq - 1;
    scans.opened += 1;
    return {
      next: async (countMax: number) => {
        const batch = stored.slice(next, next + countMax);
        next += batch.length;
        return batch;
      },
      close: async () => undefined,
    };
  };
  const stream = { open, state: async () => ({ created: "now", lastSeq: stored.length }) };
  return { scans, index: createEventIndex({ stream, attempts: { lastSeq: async () => 0 }, clock, rowsMax: 1 }) };
}

const place = { source: "streams", sinceMs: 0, attemptSeq: 0, attempts: [] };
const messagesOf = (total: number, perMessage: number): readonly IndexMessage[] =>
  Array.from({ length: Math.ceil(total / perMessage) }, (_, number) => {
    const start = number * perMessage;
    const events = Array.from({ length: Math.min(perMessage, total - start) }, (_row, at) => eventRow(start + at + 1));
    return { ...place, number: number + 1, eventSeq: start + events.length, events };
  });

test("the oldest rows go when there are too many, and the index says how far it reaches", async () => {
  const { index } = streamOf(messagesOf(segmentRows + 10, 10_000), new ManualClock());
  const { columns, reachMs } = await index.read();
  expect(reachMs).toBe(segmentRows + 1);
  const search = {
    isTenant: () => true,
    isType: () => true,
    fromMs: 0,
    toMs: Infinity,
    afterSeq: 0,
    beforeSeq: Infinity,
  };
  const found = [...findCandidates(columns, { ...search, isAscending: false })].filter((seq) => seq !== undefined);
  expect(found).toEqual(Array.from({ length: 10 }, (_, at) => segmentRows + 10 - at));
});

test("messages that are gone leave a gap, and the rows begin after it", async () => {
  const [first, , ...rest] = messagesOf(50, 10);
  if (first === undefined) throw new Error("no message");
  const { index } = streamOf([first, ...rest], new ManualClock());
  const { columns, reachMs } = await index.read();
  expect([columns.events.end, reachMs]).toEqual([30, 21]);
});

test("rows that nobody reads for ten minutes are dropped, and loaded again at the next use", async () => {
  const clock = new ManualClock();
  const { index, scans } = streamOf(messagesOf(50, 10), clock);
  const before = await index.read();
  clock.advance(599_999);
  expect((await index.read()).columns).toBe(before.columns);
  clock.advance(600_000);
  const after = await index.read();
  expect(after.columns).not.toBe(before.columns);
  expect([after.columns.events.end, scans.opened]).toEqual([50, 2]);
});

test("a text beyond the bound passes every test of texts", () => {
  const texts = createTextNumbers(2);
  const numbers = ["a", "b", "c", "a"].map((text) => texts.add(text));
  const isWanted = texts.matcher((text) => text === "b");
  expect([numbers, numbers.map(isWanted), texts.isWhole]).toEqual([[1, 2, 0, 1], [false, true, true, false], false]);
});

test("attempts of pings are not counted, in whichever message their event stands", async () => {
  const event = (seq: number, type: string): EventRow => ({ ...eventRow(seq), type });
  const attempt = (seq: number, kind: RowKind): AttemptRow => {
    const { high, low, tenant } = eventRow(seq);
    const about = { status: 200, reason: "", atMs: 10, durationMs: 5, generation: 0, attempt: 1 };
    return { high, low, tenant, kind, partner: "default/one", ...about };
  };
  const messages: readonly IndexMessage[] = [
    {
      ...place,
      number: 1,
      eventSeq: 2,
      events: [event(1, "a.b"), event(2, pingType)],
      attempts: [attempt(1, "delivered")],
    },
    {
      ...place,
      number: 2,
      eventSeq: 3,
      events: [event(3, pingType)],
      attempts: [attempt(2, "delivered"), attempt(3, "retry")],
    },
  ];
  const { index } = streamOf(messages, new ManualClock());
  const query = { partner: "default/one", tenants: ["*"], fromMs: 0, toMs: 100, stepMs: 100 };
  const { points } = await readPartnerStats(index, query);
  expect(points).toMatchObject([{ delivered: 1, retried: 0, answers: { "2xx": 1 }, p95_ms: 5 }]);
});
