import { describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { isReadable, joinShards } from "../../../crds/shards/join-shards.ts";
import type { Resource } from "../../../crds/resource.ts";
import { splitIntoShards } from "../../../crds/shards/split-shards.ts";
import type { ConfigShard, Shard, ShardCounts } from "../../../crds/shards/shards.ts";
import { compiled, first, keyOf, resourceOf } from "../compile/resources.ts";

const counts: ShardCounts = { config: 4, keys: 2 };

const secretsWith = (rotation: number) =>
  new Map(["a", "b"].map((name, index) => [`default/${name}`, { hmac: keyOf(10 * rotation + index) }]));

function partnerOf(name: string, maxInFlight: number): Resource {
  return resourceOf(
    "WebhookPartner",
    { "signing.keys[0].secretRef.name": name, "delivery.maxInFlight": maxInFlight },
    { name },
  );
}

const shardsOf = (config: RuntimeConfig): readonly Shard[] =>
  [...splitIntoShards(config, counts).values()].map(({ shard }) => shard);

describe("joining", () => {
  const one = compiled([partnerOf("a", 1)], secretsWith(0)).config;
  const two = compiled([partnerOf("a", 2)], secretsWith(1)).config;
  const only = (part: string, config: RuntimeConfig) => shardsOf(config).filter(({ shard }) => shard.startsWith(part));
  const missing = {
    kind: "WebhookPartner",
    namespace: "default",
    name: "a",
    generation: 1,
    reason: "MaterialMissing",
    message: "default/a/hmac has not arrived",
  };

  test("keeps a partner as it was, key included, until its new material has arrived", () => {
    const joined = joinShards([...only("config", two), ...only("keys", one)], one);
    expect(joined.config.partners).toEqual(one.partners);
    expect(joined.config.material).toEqual(one.material);
    expect(joined.faults).toEqual([missing]);
    expect(joinShards([...only("config", two), ...only("keys", two)], joined.config).config).toEqual(two);
  });

  test("keeps a partner with its key when the key is dropped before the partner changes", () => {
    const joined = joinShards([...only("config", one), ...only("keys", two)], one);
    expect(joined.config).toEqual(one);
    expect(joined.faults).toEqual([missing]);
  });

  test("leaves out a partner without material that was never applied", () => {
    const joined = joinShards([...only("config", one), ...only("keys", compiled([]).config)]);
    expect(joined.config.partners).toEqual([]);
    expect(joined.faults).toEqual([missing]);
  });

  test("does not give a partner the past of an earlier one of its name", () => {
    const earlier = { ...one, partners: one.partners.map((partner) => ({ ...partner, uid: "another" })) };
    expect(joinShards([...only("config", two), ...only("keys", one)], earlier).config.partners).toEqual([]);
  });

  test("takes a partner out with its material when its shard no longer holds it", () => {
    const joined = joinShards(shardsOf(compiled([]).config), one);
    expect(joined.config.partners).toEqual([]);
    expect(joined.config.material).toEqual({});
  });

  test("never holds material that no partner names", () => {
    const { config } = joinShards([...only("config", one), ...only("keys", one), ...only("keys", two)], two);
    expect(Object.keys(config.material)).toEqual([first(first(one.partners).signing.keys).material]);
  });
});

describe("a resource of a shape that this version cannot read", () => {
  const good = compiled(
    [partnerOf("a", 1), partnerOf("b", 1), resourceOf("QueryClassQuota", {}, { name: "q" })],
    secretsWith(0),
  ).config;
  const [a] = good.partners;

  /** The shards with another value in the place of the partner `a`. */
  const withInstead = (value: unknown): readonly Shard[] =>
    shardsOf(good).map((shard) => {
      if (!("partners" in shard)) return shard;
      const partners = shard.partners.map((partner) => (partner.name === "a" ? value : partner));
      return { ...shard, partners: partners as ConfigShard["partners"] };
    });

  const shapes: ReadonlyArray<readonly [string, unknown]> = [
    ["no keys", { ...a, signing: {} }],
    ["keys that are no list", { ...a, signing: { keys: 7 } }],
    ["a key that is null", { ...a, signing: { keys: [null] } }],
    ["material that is a number", { ...a, signing: { keys: [{ id: "x", material: 7 }] } }],
    ["no name", { ...a, name: undefined }],
    ["no generation", { ...a, generation: "1" }],
    ["nothing at all", null],
    ["a text", "partner"],
  ];

  test.each(shapes)("keeps no other resource from being joined: %s", (_what, value) => {
    const { config, faults } = joinShards(withInstead(value));
    expect(config.partners.map(({ name }) => name)).toEqual(["b"]);
    expect(config.quotas).toEqual(good.quotas);
    expect(faults).toMatchObject([
      {
        kind: "WebhookPartner",
        reason: "NotObeyable",
        message: expect.stringMatching(/^this version cannot read the resource: ./u),
      },
    ]);
    expect(isReadable(value as ConfigShard["partners"][number])).toBe(false);
  });

  test("stays what it was, with its key", () => {
    const { config, faults } = joinShards(withInstead({ ...a, generation: 2, signing: {} }), good);
    expect(config).toEqual(good);
    expect(faults).toMatchObject([{ namespace: "default", name: "a", generation: 2 }]);
  });

  test("is nothing special in the other kinds", () => {
    const broken = shardsOf(good).map((shard) =>
      "partners" in shard
        ? { ...shard, quotas: shard.quotas.map(() => null) as unknown as ConfigShard["quotas"] }
        : shard,
    );
    expect(joinShards(broken)).toMatchObject({
      config: { partners: good.partners, quotas: [] },
      faults: [{ kind: "QueryClassQuota", name: "" }],
    });
  });
});
