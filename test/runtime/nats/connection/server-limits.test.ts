import { expect, test } from "vitest";
import { limitsFault } from "../../../../runtime/nats/connection/server-limits.ts";

const enough = { maxPayloadBytes: 1_048_576, streams: -1, consumers: -1 };

test.each([
  ["without limits", enough],
  ["with room for what is made", { ...enough, streams: 17, consumers: 6 }],
  ["that does not say what it takes", { ...enough, maxPayloadBytes: undefined }],
])("a server %s is enough", (_, limits) => {
  expect(limitsFault(limits)).toBeUndefined();
});

test.each([
  ["messages", { ...enough, maxPayloadBytes: 65_536 }, /^max_payload of nats-server is 65536 bytes; set it to/u],
  ["streams", { ...enough, streams: 16 }, /allows 16 streams; allow 17 or more$/u],
  ["consumers", { ...enough, consumers: 5 }, /allows 5 consumers; allow 6/u],
])("a server with too few %s is refused", (_, limits, sentence) => {
  expect(limitsFault(limits)).toMatch(sentence);
});
