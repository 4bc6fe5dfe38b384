import { expect, test } from "vitest";
import { createBackpressure } from "../../../../runtime/webhooks/ingest/backpressure.ts";
import { memoryLog } from "../engine-fixture.ts";

test("producers are refused above 95 % and accepted again below 90 %, with one log line each", async () => {
  const size = { messages: 1, bytes: 0, firstSeq: 1 };
  const { log, lines } = memoryLog();
  const backpressure = createBackpressure({ size: async () => size }, 1_000, log);
  const seen: boolean[] = [];
  for (const bytes of [0, 950, 951, 901, 900, 950, 951]) {
    size.bytes = bytes;
    await backpressure.poll();
    seen.push(backpressure.isFull);
  }
  expect(seen).toEqual([false, false, true, true, false, false, true]);
  expect(lines.map(({ message }) => message)).toEqual([
    "event store nearly full, producers rejected",
    "events accepted again",
    "event store nearly full, producers rejected",
  ]);
});
