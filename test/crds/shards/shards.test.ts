import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../crds/compile/canonical-json.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import type { Resource } from "../../../crds/resource.ts";
import { createShardSplitter, splitIntoShards, type EncodedShard } from "../../../crds/shards/split-shards.ts";
import {
  decodeShard,
  readShardSecret,
  shardAnnotations,
  shardEntry,
  shardNames,
  shardOfMaterial,
  shardOfResource,
  shardSecretName,
  type Shard,
  type ShardCounts,
} from "../../../crds/shards/shards.ts";
import { joinShards } from "../../../crds/shards/join-shards.ts";
import { compiled, keyOf, materialOf, resourceOf } from "../compile/resources.ts";
import { runsOf } from "../../support/soak.ts";

const counts: ShardCounts = { config: 4, keys: 2 };

const secretNames = ["a", "b", "c", "d", "e", "f"];

function secretsWith(rotation: number): ReadonlyMap<string, Readonly<Record<string, string>>> {
  return new Map(secretNames.map((name, index) => [`default/${name}`, { hmac: keyOf(10 * rotation + index) }]));
}

function partnerOf(name: string, secret: string, maxInFlight = 64): Resource {
  return resourceOf(
    "WebhookPartner",
    { "signing.keys[0].secretRef.name": secret, "delivery.maxInFlight": maxInFlight },
    { name },
  );
}

function quotaOf(name: string): Resource {
  return resourceOf("QueryClassQuota", { clients: [{ clientId: name }] }, { name });
}

function catalogOf(name: string): Resource {
  return resourceOf("MetricCatalog", { "metrics[0].id": `metric_${name}` }, { name });
}

const configs: fc.Arbitrary<RuntimeConfig> = fc
  .tuple(
    fc.subarray(secretNames),
    fc.subarray(secretNames),
    fc.subarray(secretNames),
    fc.integer({ min: 0, max: 2 }),
    fc.integer({ min: 1, max: 3 }),
  )
  .map(([partners, quotas, catalogs, rotation, maxInFlight]) => {
    const resources = [
      ...partners.map((name) => partnerOf(name, name, maxInFlight)),
      ...quotas.map(quotaOf),
      ...catalogs.map(catalogOf),
    ];
    return compiled(resources, secretsWith(rotation)).config;
  });

function shardsOf(encoded: ReadonlyMap<string, EncodedShard>): readonly Shard[] {
  return [...encoded.values()].map(({ bytes, sha256 }) => {
    const { shard, error } = decodeShard(bytes, sha256);
    if (shard === undefined) throw new Error(error);
    return shard;
  });
}

function bytesOf(encoded: ReadonlyMap<string, EncodedShard>): Readonly<Record<string, string>> {
  return Object.fromEntries([...encoded].map(([name, { bytes }]) => [name, Buffer.from(bytes).toString("base64")]));
}

describe("splitting", () => {
  test("and joining gives the configuration back, whatever the order of the shards", () => {
    fc.assert(
      fc.property(configs, fc.integer(), (config, seed) => {
        const shards = shardsOf(splitIntoShards(config, counts, "token"));
        const shuffled =
          fc.sample(fc.shuffledSubarray([...shards], { minLength: shards.length }), { seed, numRuns: 1 })[0] ?? [];
        const joined = joinShards(shuffled);
        expect(canonicalJson(joined.config)).toBe(canonicalJson(config));
        expect(joined).toMatchObject({ faults: [], configzToken: "token" });
      }),
      { numRuns: runsOf(100) },
    );
  });

  test("gives the same bytes whatever was split before", () => {
    fc.assert(
      fc.property(fc.array(configs, { minLength: 1, maxLength: 5 }), (history) => {
        const split = createShardSplitter(counts);
        const results = history.map((config) => split(config, "token"));
        const last = history.at(-1);
        if (last === undefined) return;
        expect(bytesOf(results.at(-1) ?? new Map())).toEqual(bytesOf(splitIntoShards(last, counts, "token")));
      }),
      { numRuns: runsOf(100) },
    );
  });

  test("leaves a shard whose parts did not change the very object it was", () => {
    const split = createShardSplitter(counts);
    const config = compiled([partnerOf("a", "a"), quotaOf("b")], secretsWith(0)).config;
    const [before, after] = [split(config, "token"), split({ ...config, partners: [...config.partners] }, "token")];
    for (const [name, shard] of before) expect(after.get(name)).toBe(shard);
  });

  test("changes one shard of resources for one edit, and no shard of keys", () => {
    const names = secretNames.map((name, index) => partnerOf(name, name, index + 1));
    const before = bytesOf(splitIntoShards(compiled(names, secretsWith(0)).config, counts));
    const edited = [...names.slice(1), partnerOf("a", "a", 9)];
    const after = bytesOf(splitIntoShards(compiled(edited, secretsWith(0)).config, counts));
    const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
    expect(changed).toEqual([shardOfResource("WebhookPartner", { namespace: "default", name: "a" }, counts)]);
  });

  test("changes the partner's shard and those of its material when a key is rotated", () => {
    const [before, after] = [0, 1].map((rotation) => {
      return bytesOf(splitIntoShards(compiled([partnerOf("a", "a")], secretsWith(rotation)).config, counts));
    });
    const changed = Object.keys(after ?? {}).filter((name) => after?.[name] !== before?.[name]);
    const expected = [
      shardOfResource("WebhookPartner", { namespace: "default", name: "a" }, counts),
      ...[0, 10].map((byte) => shardOfMaterial(materialOf("default/a/hmac", keyOf(byte)), counts)),
    ];
    expect(new Set(changed)).toEqual(new Set(expected));
  });

  test("keeps key bytes and token out of the shards of resources", () => {
    const encoded = splitIntoShards(compiled([partnerOf("a", "a")], secretsWith(3)).config, counts, "the token");
    const holding = (text: string) =>
      [...encoded.values()].filter(({ bytes }) => gunzipSync(bytes).includes(text)).map(({ name }) => name);
    expect(holding(keyOf(30))).toEqual([shardOfMaterial(materialOf("default/a/hmac", keyOf(30)), counts)]);
    expect(holding("the token")).toEqual(["keys-00"]);
  });

  test("writes canonical JSON with a digest for each resource", () => {
    const config = compiled([partnerOf("a", "a"), quotaOf("b"), catalogOf("c")], secretsWith(0)).config;
    for (const { bytes, name, shard } of splitIntoShards(config, counts, "token").values()) {
      const json = gunzipSync(bytes).toString();
      expect(json).toBe(canonicalJson(JSON.parse(json)));
      expect(shard).toEqual(JSON.parse(json));
      expect(shard.shard).toBe(name);
      for (const digest of Object.values("digests" in shard ? shard.digests : {}))
        expect(digest).toMatch(/^1:[0-9a-f]{16}$/u);
    }
  });

  test("gzips the same on every machine: no time, no operating system", () => {
    for (const { bytes } of splitIntoShards(compiled([]).config, counts).values())
      expect([...bytes.slice(4, 8), bytes[9]]).toEqual([0, 0, 0, 0, 255]);
  });

  test("makes every shard, an empty one too, named by two digits", () => {
    expect([...splitIntoShards(compiled([]).config, counts).keys()]).toEqual([
      "config-00",
      "config-01",
      "config-02",
      "config-03",
      "keys-00",
      "keys-01",
    ]);
    expect(shardNames({ config: 32, keys: 8 })).toHaveLength(40);
    expect(shardSecretName("heliograph", "config-07")).toBe("heliograph-config-07");
  });
});

describe("a Secret of a shard", () => {
  const encoded = splitIntoShards(compiled([quotaOf("b")]).config, counts).get("config-00");
  if (encoded === undefined) throw new Error("there is no config-00");
  const { bytes, sha256 } = encoded;
  const secretOf = (changes: { revision?: string; sha256?: string; data?: Readonly<Record<string, string>> } = {}) => ({
    metadata: {
      annotations: {
        [shardAnnotations.revision]: changes.revision ?? "7",
        [shardAnnotations.sha256]: changes.sha256 ?? sha256,
      },
    },
    data: changes.data ?? { [shardEntry]: Buffer.from(bytes).toString("base64") },
  });
  const dataOf = (value: unknown) => {
    const json = JSON.stringify(value);
    const gzip = gzipSync(json);
    return { json, data: { [shardEntry]: gzip.toString("base64") } };
  };

  test("is read with its revision", () => {
    expect(readShardSecret(secretOf(), "config-00", counts)).toEqual({ revision: 7, sha256, shard: encoded.shard });
  });

  test.each([
    ["no revision", secretOf({ revision: "" }), "the annotation heliograph.dev/revision is not a revision number"],
    ["a revision of 0", secretOf({ revision: "0" }), "the annotation heliograph.dev/revision is not a revision number"],
    ["no data", secretOf({ data: {} }), "the entry shard.json.gz is missing"],
    ["another hash", secretOf({ sha256: "00" }), `the content's sha256 is ${sha256}, not 00`],
    ["no gzip", secretOf({ data: { [shardEntry]: "AAAA" } }), "the content cannot be read: "],
    [
      "half of its bytes",
      secretOf({ data: { [shardEntry]: Buffer.from(bytes.slice(0, 40)).toString("base64") } }),
      "the content cannot be read: ",
    ],
  ])("with %s is rejected", (_what, secret, error) => {
    expect(readShardSecret(secret, "config-00", counts).error?.startsWith(error)).toBe(true);
  });

  test.each([
    ["schema 2", { ...encoded.shard, schema: 2 }],
    ["no lists", { schema: 1, shard: "config-00", counts }],
    ["a list in the place of an object", { schema: 1, shard: "config-00", counts, material: [] }],
    ["a number", 1],
  ])("that holds %s is rejected", (_what, value) => {
    const { json, data } = dataOf(value);
    const secret = secretOf({ data, sha256: createHash("sha256").update(json).digest("hex") });
    expect(readShardSecret(secret, "config-00", counts).error).toBe("the content is not a shard of schema 1");
  });

  test("of another name or of other counts is rejected", () => {
    expect(readShardSecret(secretOf(), "config-01", counts).error).toBe("the content belongs to the shard config-00");
    const error = readShardSecret(secretOf(), "config-00", { config: 8, keys: 2 }).error;
    expect(error).toBe("the content belongs to a set of 4 and 2 shards, not of 8 and 2");
  });
});
