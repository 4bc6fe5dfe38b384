import type { ConsumerInfo, StreamInfo } from "@nats-io/jetstream";
import { expect, test } from "vitest";
import { differenceOf, type StreamCount } from "../../../../runtime/nats/copy/compare-streams.ts";

/** A stream of 500 events with one consumer. */
function counted(floor: number, pending: number, unsettled: number): StreamCount {
  const state = { messages: 500, first_seq: 1, last_seq: 500 };
  const info = { config: { retention: "limits", max_age: 0 }, state } as unknown as StreamInfo;
  const sequence = { consumer_seq: floor, stream_seq: floor };
  const router = { name: "router", ack_floor: sequence, num_pending: pending, num_ack_pending: unsettled };
  return { info, consumers: [router as unknown as ConsumerInfo] };
}

test.each<[what: string, copy: StreamCount, source: StreamCount, difference: string | undefined]>([
  ["that counts the same is equal", counted(488, 0, 12), counted(488, 0, 12), undefined],
  // The leader handed out 12 messages, and no server of the source stored it.
  ["that hands out again what only the leader counts is equal", counted(488, 12, 0), counted(488, 0, 12), undefined],
  ["that repeats a settled message is equal", counted(488, 12, 0), counted(488, 0, 11), undefined],
  [
    "that never hands out a message differs",
    counted(488, 0, 0),
    counted(488, 0, 12),
    "consumer router: hands out 0 instead of 12",
  ],
  [
    "that has settled other messages differs",
    counted(480, 20, 0),
    counted(488, 0, 12),
    "consumer router: floor 480 instead of 488",
  ],
])("a copy of a consumer %s", (_what, copy, source, difference) => {
  expect(differenceOf(copy, source)).toBe(difference);
});
