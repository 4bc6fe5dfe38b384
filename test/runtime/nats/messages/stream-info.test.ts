import { expect, test } from "vitest";
import { led } from "../../../../runtime/nats/messages/stream-info.ts";

test.each([
  ["of a single server", {}],
  ["with a leader", { cluster: { leader: "n0" } }],
])("a record %s is passed on", (_, info) => {
  expect(led("EV", info)).toBe(info);
});

test.each([
  ["that knows no leader", { cluster: {} }],
  ["whose leader is gone", { cluster: { leader: "" } }],
])("a record of a server %s has no source", (_, info) => {
  expect(() => led("EV", info)).toThrow("EV has no leader");
});
