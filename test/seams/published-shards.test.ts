import { expect, test } from "vitest";
import { shardedHash } from "../../runtime/config/kubernetes/shard-set.ts";
import { PublishedShards } from "./published-shards.ts";

const names = ["config-00", "keys-00"];
const hashOf = (...digests: readonly string[]): string =>
  shardedHash(
    names.map((name, index) => ({ name, sha256: digests[index] ?? "" })),
    [],
  ).slice(0, 16);

/** A shard of keys that stays, and 20 versions of the other one, a second apart. */
function published(): PublishedShards<string> {
  const shards = new PublishedShards<string>(names);
  shards.add("keys-00", "k", 0, "keys");
  for (let version = 0; version < 20; version += 1)
    shards.add("config-00", `c${version}`, version * 1_000, `content ${version}`);
  return shards;
}

test("finds the contents of a configuration that routed an event", () => {
  expect(published().contentsOf(hashOf("c12", "k"), 12_500)).toEqual(["content 12", "keys"]);
});

test("finds those of a pod that was some versions behind, or saw one earlier than this process", () => {
  expect(published().contentsOf(hashOf("c9", "k"), 12_500)).toEqual(["content 9", "keys"]);
  expect(published().contentsOf(hashOf("c15", "k"), 12_500)).toEqual(["content 15", "keys"]);
});

test("knows no configuration of versions that were never published together, or much later", () => {
  expect(published().contentsOf(hashOf("c12", "other"), 12_500)).toBeUndefined();
  expect(published().contentsOf(hashOf("c19", "k"), 12_500)).toBeUndefined();
});

test("finds a version whose content came back", () => {
  const shards = published();
  shards.add("config-00", "c3", 20_000, "content 3");
  shards.add("config-00", "c3", 20_500, "seen twice");
  expect(shards.contentsOf(hashOf("c3", "k"), 20_100)).toEqual(["content 3", "keys"]);
});
