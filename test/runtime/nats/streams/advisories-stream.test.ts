import { expect, test } from "vitest";
import { readAdvisory } from "../../../../runtime/nats/streams/advisories-stream.ts";

const read = (value: unknown) => readAdvisory(Buffer.from(JSON.stringify(value)));
const advisory = { type: "io.nats.jetstream.advisory.v1.max_deliver", stream: "S", consumer: "c", stream_seq: 7 };

test("an advisory names the message that will not be redelivered", () => {
  expect(read(advisory)).toEqual({ kind: "max_deliver", stream: "S", consumer: "c", seq: 7 });
  expect(read({ ...advisory, type: "io.nats.jetstream.advisory.v1.terminated" })?.kind).toBe("terminated");
});

test.each([
  ["of another kind", { ...advisory, type: "io.nats.jetstream.advisory.v1.nak" }],
  ["without a sequence", { ...advisory, stream_seq: undefined }],
  ["without a stream", { ...advisory, stream: 1 }],
  ["that is no object", null],
])("an advisory %s is none", (_, value) => {
  expect(read(value)).toBeUndefined();
});

test("a text that is not JSON is no advisory", () => {
  expect(readAdvisory(Buffer.from("{"))).toBeUndefined();
});
