import { describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../../crds/config.ts";
import { ShardSet } from "../../../../runtime/config/kubernetes/shard-set.ts";
import { configOf, corrupted, fewShards, secretOf, shardSecrets, type AppliedShard } from "../shard-secrets.ts";

function setOf(secrets: ReadonlyMap<string, AppliedShard>): ShardSet {
  const set = new ShardSet(fewShards);
  for (const [name, secret] of secrets) set.take(name, secret);
  return set;
}

const partnersOf = (set: ShardSet, previous = configOf({})) =>
  set.join(previous)?.config.partners.map(({ name }) => name);

describe("shards", () => {
  const config = configOf({ acme: {}, beta: {}, gamma: {} });
  const secrets = shardSecrets(config, { token: "t", revision: 7 });

  test("say together what they were split from", () => {
    const state = setOf(secrets).join(undefined);
    expect(state?.config).toEqual(config);
    expect(state).toMatchObject({ configzToken: "t", errors: [], hash: expect.stringMatching(/^[0-9a-f]{64}$/u) });
    expect(Object.entries(state?.shards ?? {})).toEqual(
      [...secrets].map(([name, { metadata }]) => [
        name,
        { revision: 7, sha256: metadata.annotations["heliograph.dev/sha256"] },
      ]),
    );
  });

  test("say nothing while one is missing, and which", () => {
    const set = new ShardSet(fewShards);
    set.take("config-00", secretOf(secrets, "config-00"));
    set.take("keys-00", undefined);
    expect(set.join(undefined)).toBeUndefined();
    expect(set.missing()).toEqual([
      { name: "config-01", error: "not received yet" },
      { name: "keys-00", error: "the Secret does not exist" },
    ]);
  });

  test("that come again change nothing, and one that grew by a revision alone counts", () => {
    const set = setOf(secrets);
    const before = set.join(undefined);
    for (const [name, secret] of secrets) expect(set.take(name, secret)).toBe("same");
    const next = shardSecrets(config, { token: "t", revision: 8 });
    expect(set.take("config-00", secretOf(next, "config-00"))).toBe("good");
    const after = set.join(before?.config);
    expect(after?.hash).toBe(before?.hash);
    expect(after?.shards["config-00"]?.revision).toBe(8);
    // The same objects: whoever compares them sees at once that nothing changed.
    expect(after?.config.partners.every((partner, index) => partner === before?.config.partners[index])).toBe(true);
  });

  test.each<[string, (secret: AppliedShard) => AppliedShard | undefined, string]>([
    ["is gone", () => undefined, "the Secret does not exist"],
    ["is corrupt", corrupted, "the content cannot be read"],
    [
      "has another digest",
      (secret) => ({
        ...secret,
        metadata: {
          ...secret.metadata,
          annotations: { ...secret.metadata.annotations, "heliograph.dev/sha256": "00" },
        },
      }),
      "the content's sha256 is",
    ],
    [
      "has no revision",
      (secret) => ({ ...secret, metadata: { ...secret.metadata, annotations: {} } }),
      "is not a revision number",
    ],
    ["is another shard's", () => secretOf(secrets, "config-01"), "the content belongs to the shard config-01"],
    [
      "is one of other counts",
      () => secretOf(shardSecrets(config, { counts: { config: 4, keys: 1 } }), "config-00"),
      "belongs to a set of 4 and 1 shards",
    ],
  ])("of which one %s keep its last good version and say why", (_name, change, error) => {
    const set = setOf(secrets);
    const before = set.join(undefined);
    expect(set.take("config-00", change(secretOf(secrets, "config-00")))).toBe("bad");
    const after = set.join(before?.config);
    expect(after?.config).toEqual(config);
    expect(after?.shards["config-00"]).toMatchObject({ revision: 7, error: expect.stringContaining(error) });
    expect(set.take("config-00", secretOf(secrets, "config-00"))).toBe("good");
    expect(set.join(after?.config)).toEqual(before);
  });

  test("keep a partner as it was until the bytes of its new key arrive, whichever comes first", () => {
    const set = setOf(secrets);
    const before = set.join(undefined);
    const rotated = configOf({ acme: { key: "rotated", generation: 2 }, beta: {}, gamma: {} });
    const next = shardSecrets(rotated, { token: "t", revision: 8 });
    for (const name of ["config-00", "config-01"]) set.take(name, secretOf(next, name));
    const between = set.join(before?.config);
    const acme = expect.objectContaining({ uid: "uid-acme", reason: "MaterialMissing" });
    expect(between?.config).toEqual({ ...config, notApplied: { partners: [acme], isPartial: false } });
    expect(between?.errors).toMatchObject([
      { kind: "WebhookPartner", name: "acme", generation: 2, reason: "MaterialMissing" },
    ]);
    set.take("keys-00", secretOf(next, "keys-00"));
    const after = set.join(between?.config);
    expect(after).toMatchObject({ config: rotated, errors: [] });
    expect(new Set([before?.hash, between?.hash, after?.hash]).size).toBe(3);
  });

  test("leave a partner out that never had a key, and only it", () => {
    const set = setOf(secrets);
    const more = shardSecrets(configOf({ acme: {}, beta: {}, gamma: {}, delta: {} }));
    for (const name of ["config-00", "config-01"]) set.take(name, secretOf(more, name));
    expect(partnersOf(set, config)).toEqual(["acme", "beta", "gamma"]);
    expect(set.join(config)?.config.notApplied?.partners).toMatchObject([{ name: "delta", reason: "MaterialMissing" }]);
  });

  test("keep a partner that this version cannot apply from counting as removed on a first start", () => {
    const [acme, ...others] = config.partners;
    const strange = { ...config, partners: [{ ...acme, signing: null }, ...others] } as unknown as RuntimeConfig;
    const joined = setOf(shardSecrets(strange)).join(undefined)?.config;
    expect(joined?.partners.map(({ name }) => name)).toEqual(["beta", "gamma"]);
    expect(joined?.notApplied).toMatchObject({
      partners: [{ uid: "uid-acme", reason: "NotObeyable" }],
      isPartial: false,
    });
  });

  test("name the partners that the operator left out", () => {
    const notApplied = {
      partners: [{ uid: "u", namespace: "default", name: "nova", reason: "SharedSigningKey" }],
      isPartial: false,
    };
    expect(setOf(shardSecrets({ ...config, notApplied })).join(undefined)?.config).toEqual({ ...config, notApplied });
  });
});

describe("a copy of a shard", () => {
  const secrets = shardSecrets(configOf({ acme: {} }));
  const copy = secretOf(secrets, "config-00");

  test("is used for a shard without a good version, and the fault of the newest stays reported", () => {
    const set = setOf(new Map([...secrets].filter(([name]) => name !== "config-00")));
    set.take("config-00", corrupted(copy));
    expect(set.takeCopy("config-00", copy)).toBe("good");
    expect(set.join(undefined)?.shards["config-00"]).toMatchObject({
      revision: 1,
      error: expect.stringContaining("cannot be read"),
    });
  });

  test("that is damaged is as good as none", () => {
    const set = new ShardSet(fewShards);
    expect(set.takeCopy("config-00", corrupted(copy))).toBe("bad");
    expect(set.missing()).toHaveLength(3);
  });

  test("never replaces a received version", () => {
    const set = setOf(shardSecrets(configOf({ acme: {} }), { revision: 9 }));
    expect(set.takeCopy("config-00", copy)).toBe("bad");
    expect(set.join(undefined)?.shards["config-00"]?.revision).toBe(9);
  });
});
