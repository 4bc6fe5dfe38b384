import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { joinShards } from "../../../crds/shards/join-shards.ts";
import { createShardSplitter } from "../../../crds/shards/split-shards.ts";
import { resourceKey } from "../../../crds/shards/shards.ts";
import { fitIntoShards, shardBytesMax } from "../../../operator/publish/fit.ts";
import { compiled, resourceOf } from "../../crds/compile/resources.ts";
import { configOf, shardsOf } from "./configs.ts";

const counts = { config: 1, keys: 1 };

/** Hex that gzip cannot make much smaller than half. */
const noise = (bytes: number) => randomBytes(bytes / 2).toString("hex");

/** Quotas whose one client has a long name, by name from the oldest to the youngest. */
function quotas(sizes: Readonly<Record<string, number>>): RuntimeConfig {
  const resources = Object.entries(sizes).map(([name, bytes]) => {
    const clients = Array.from({ length: Math.ceil(bytes / 100) }, () => ({ clientId: noise(100) }));
    return resourceOf("QueryClassQuota", { clients }, { name });
  });
  return compiled(resources).config;
}

function partners(sizes: Readonly<Record<string, number>>): RuntimeConfig {
  const names = Object.keys(sizes);
  const resources = names.map((name) =>
    resourceOf("WebhookPartner", { "signing.keys[0].secretRef.name": name }, { name }),
  );
  const secrets = new Map(
    names.map((name) => [`default/${name}`, { hmac: randomBytes(sizes[name] ?? 0).toString("base64") }]),
  );
  return compiled(resources, secrets).config;
}

function fit(config: RuntimeConfig, bytesMax: number) {
  const split = createShardSplitter(counts);
  return fitIntoShards(config, {
    counts,
    split,
    configzToken: "token",
    bytesMax,
    byAge: (one, other) => (one < other ? -1 : 1),
  });
}

const published = ({ shards }: ReturnType<typeof fit>) =>
  [...shards.values()]
    .flatMap(({ shard }) => ("digests" in shard ? Object.keys(shard.digests) : []))
    .map((key) => key.split("/").at(-1));
const left = ({ tooLarge }: ReturnType<typeof fit>) => [...tooLarge].map((key) => key.split("/").at(-1));

describe("shards", () => {
  test("that are not full hold everything", () => {
    const config = configOf({ acme: { key: 1 } }, ["shop"]);
    const { shards, tooLarge } = fitIntoShards(config, {
      counts: { config: 3, keys: 2 },
      split: createShardSplitter({ config: 3, keys: 2 }),
      configzToken: "token",
      byAge: () => 0,
    });
    expect([...shards.values()].map(({ sha256 }) => sha256)).toEqual(
      [...shardsOf(config, "token").values()].map(({ sha256 }) => sha256),
    );
    expect(tooLarge).toEqual(new Set());
  });

  test("that are full leave out the youngest and hold the rest", () => {
    const fitted = fit(quotas({ a: 4_000, b: 4_000, c: 4_000, d: 4_000 }), 6_000);
    expect([published(fitted), left(fitted)]).toEqual([
      ["a", "b"],
      ["c", "d"],
    ]);
    for (const { bytes } of fitted.shards.values()) expect(bytes.length).toBeLessThanOrEqual(6_000);
  });

  test("leave out one that does not fit in itself and hold those that are younger", () => {
    const fitted = fit(quotas({ a: 1_000, b: 20_000, c: 1_000, d: 1_000 }), 6_000);
    expect([published(fitted), left(fitted)]).toEqual([["a", "c", "d"], ["b"]]);
  });

  test("of keys that are full leave out the youngest partners, and their material", () => {
    const config = partners({ a: 3_000, b: 3_000, c: 9_000, d: 1_000 });
    const fitted = fit(config, 8_000);
    expect([published(fitted), left(fitted)]).toEqual([["a", "b", "d"], ["c"]]);
    const keys = fitted.shards.get("keys-00")?.shard;
    expect(Object.keys(keys !== undefined && "material" in keys ? keys.material : {})).toHaveLength(3);
  });

  test("name the partners that they leave out, so that pods do not take them for removed", () => {
    const { shards, tooLarge } = fit(partners({ a: 4_000, b: 4_000, c: 4_000 }), 10_000);
    expect(tooLarge.size).toBeGreaterThan(0);
    const { config } = joinShards([...shards.values()].map(({ shard }) => shard));
    const all = [...config.partners, ...(config.notApplied?.partners ?? [])].map(({ name }) => name);
    expect(all).toEqual(["a", "b", "c"]);
    expect(config.notApplied?.partners.map(({ reason }) => reason)).toEqual([...tooLarge].map(() => "ConfigTooLarge"));
  });

  test("are the same for the same configuration with the same ages", () => {
    const config = quotas({ a: 4_000, b: 4_000, c: 4_000 });
    const [one, two] = [fit(config, 6_000), fit(config, 6_000)];
    expect([...two.shards.values()].map(({ sha256 }) => sha256)).toEqual(
      [...one.shards.values()].map(({ sha256 }) => sha256),
    );
  });

  test("are tried a bounded number of times, and what was not tried is left out", () => {
    const sizes = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`q-${String(index).padStart(3, "0")}`, 400]),
    );
    const fitted = fit(quotas(sizes), 4_000);
    expect(published(fitted).length + left(fitted).length).toBe(200);
    expect(published(fitted)[0]).toBe("q-000");
    expect(fitted.shards.get("config-00")?.bytes.length).toBeLessThanOrEqual(4_000);
  });

  test("have room beside them in a Secret for material that is on its way out", () => {
    expect(shardBytesMax).toBeLessThan(1024 * 1024);
    expect(resourceKey("QueryClassQuota", { namespace: "n", name: "q" })).toBe("QueryClassQuota/n/q");
  });
});
