import { expect, test } from "vitest";
import type { StoredMessage } from "../../../../runtime/nats/messages/stored-messages.ts";
import { chunkSize, createRecentEvents } from "../../../../runtime/webhooks/history/event-list.ts";

/** Sequences 11 to 510, without those that retention took; at most 100 messages a read. */
const stored = Array.from({ length: 500 }, (_, place) => place + 11).filter((seq) => seq % 7 !== 0);

function recentOf() {
  const reads: number[] = [];
  const scan = async (_tenant: string, from: { seq: number } | { atMs: number }, countMax: number) => {
    const seq = "seq" in from ? from.seq : 0;
    reads.push(seq);
    const found = stored.filter((one) => one >= seq).slice(0, Math.min(countMax, 100));
    return found.map((one) => ({ seq: one }) as StoredMessage);
  };
  return { reads, recent: createRecentEvents({ scan }, 11, 510) };
}

async function sequences(chunks: Iterable<() => Promise<readonly StoredMessage[]>>): Promise<readonly number[]> {
  const found: number[] = [];
  for (const read of chunks) found.push(...(await read()).map(({ seq }) => seq));
  return found;
}

const everything = { afterSeq: 0, beforeSeq: Infinity };

test("every event is in one chunk, whatever a read returns", async () => {
  const { recent } = recentOf();
  expect(await sequences(recent.chunks(everything, true))).toEqual(stored);
  expect((await sequences(recent.chunks(everything, false))).toSorted((a, b) => a - b)).toEqual(stored);
});

test("the newest chunk is read first for the newest first, and none before it is asked for", async () => {
  const { reads, recent } = recentOf();
  const [newest] = recent.chunks(everything, false);
  expect(reads).toEqual([]);
  const found = (await newest?.()) ?? [];
  expect(found.at(-1)?.seq).toBe(stored.at(-1));
  expect(Math.min(...reads)).toBe(11 + 3 * chunkSize);
});

test("chunks without an event of the bounds are not read", async () => {
  const { reads, recent } = recentOf();
  await sequences(recent.chunks({ afterSeq: 11 + chunkSize, beforeSeq: 11 + 2 * chunkSize }, true));
  expect(Math.min(...reads)).toBe(11 + chunkSize);
  expect(Math.max(...reads)).toBeLessThan(11 + 2 * chunkSize);
});

test("a chunk that several ask for is read once", async () => {
  const { reads, recent } = recentOf();
  await Promise.all([sequences(recent.chunks(everything, true)), sequences(recent.chunks(everything, false))]);
  expect(new Set(reads).size).toBe(reads.length);
});
