import { expect, test } from "vitest";
import { WaitingIndex } from "../../../operator/controllers/waiting-index.ts";

test("a resource is found by each shard it waits for, and by no other", () => {
  const waiting = new WaitingIndex();
  waiting.set("a", ["config-00", "keys-01"]);
  waiting.set("b", ["config-00"]);
  expect(waiting.forShard("config-00")).toEqual(["a", "b"]);
  expect(waiting.forShard("keys-01")).toEqual(["a"]);
  expect(waiting.forShard("keys-00")).toEqual([]);
  expect(waiting.all()).toEqual(["a", "b"]);
});

test("a resource that waits for other shards, or no more, is not found where it was", () => {
  const waiting = new WaitingIndex();
  waiting.set("a", ["config-00", "keys-01"]);
  waiting.set("a", ["config-00", "keys-00"]);
  expect([waiting.forShard("keys-01"), waiting.forShard("keys-00")]).toEqual([[], ["a"]]);
  waiting.set("a", []);
  waiting.delete("a");
  expect([waiting.all(), waiting.forShard("config-00")]).toEqual([[], []]);
});
