import { describe, expect, test } from "vitest";
import type { EncodedShard } from "../../../crds/shards/split-shards.ts";
import { shardOfMaterial, shardOfResource } from "../../../crds/shards/shards.ts";
import { Publications } from "../../../operator/publish/publications.ts";
import type { PublishedShard, ShardChange } from "../../../operator/publish/shard-secrets.ts";
import { keyOf, materialOf } from "../../crds/compile/resources.ts";
import { configOf, counts, shardsOf } from "./configs.ts";

const acme = "WebhookPartner/default/acme";
const acmeShard = shardOfResource("WebhookPartner", { namespace: "default", name: "acme" }, counts);

function changeOf({ name, shard, sha256 }: EncodedShard, revision: number): ShardChange {
  const after: PublishedShard = { name, shard, sha256, revision, isIntact: true, secret: { metadata: { name } } };
  return { name, after };
}

/** Takes in whatever differs from before, all under one revision. */
function publish(
  publications: Publications,
  config: ReturnType<typeof configOf>,
  revision: number,
  nowMs = 0,
  only?: string,
): readonly string[] {
  const shards = [...shardsOf(config).values()].filter(
    ({ name, sha256 }) => publications.current(name)?.sha256 !== sha256,
  );
  return shards
    .filter(({ name }) => only === undefined || name === only)
    .flatMap((encoded) => publications.take(changeOf(encoded, revision), nowMs));
}

describe("publications", () => {
  test("of a first look are all that is there, since the revision found", () => {
    const publications = new Publications(counts);
    expect(publish(publications, configOf({ acme: { key: 1 } }, ["shop"]), 7, 500)).toEqual(
      expect.arrayContaining([acme, "QueryClassQuota/default/shop"]),
    );
    expect(publications.of(acme)).toMatchObject({ sinceRevision: 7, atMs: 500, shard: acmeShard });
    expect(publications.keys()).toHaveLength(2);
    expect(publications.inShard(acmeShard)).toContain(acme);
  });

  test("keep the revision of a resource that a later one of its shard did not change", () => {
    const publications = new Publications(counts);
    publish(publications, configOf({ acme: { key: 1 } }), 7, 500);
    const together = Array.from({ length: 20 }, (_, index) => `q${index}`).filter((name) => {
      return shardOfResource("QueryClassQuota", { namespace: "default", name }, counts) === acmeShard;
    });
    const changed = publish(publications, configOf({ acme: { key: 1 } }, together), 8, 900);
    expect(changed.toSorted()).toEqual(together.map((name) => `QueryClassQuota/default/${name}`).toSorted());
    expect(publications.of(acme)).toMatchObject({ sinceRevision: 7, atMs: 500 });
    expect(publications.of(`QueryClassQuota/default/${together[0]}`)).toMatchObject({ sinceRevision: 8 });
    expect(publications.current(acmeShard)).toMatchObject({ revision: 8 });
  });

  test("change with an edit, with a rotated key, and end with the resource", () => {
    const publications = new Publications(counts);
    publish(publications, configOf({ acme: { key: 1 } }), 1);
    expect(publish(publications, configOf({ acme: { key: 1, maxInFlight: 2 } }), 2)).toEqual([acme]);
    expect(publish(publications, configOf({ acme: { key: 2, maxInFlight: 2 } }), 3)).toEqual([acme]);
    expect(publications.of(acme)).toMatchObject({ sinceRevision: 3 });
    expect(publish(publications, configOf({}), 4)).toEqual([acme]);
    expect(publications.of(acme)).toBeUndefined();
    expect(publications.inShard(acmeShard)).toEqual([]);
  });

  test("do not change when a shard is deleted or cannot be read", () => {
    const publications = new Publications(counts);
    publish(publications, configOf({ acme: { key: 1 } }), 5);
    const broken: PublishedShard = {
      name: acmeShard,
      shard: undefined,
      sha256: undefined,
      revision: 0,
      isIntact: true,
      secret: { metadata: {} },
    };
    expect(publications.take({ name: acmeShard, after: undefined }, 0)).toEqual([]);
    expect(publications.take({ name: acmeShard, after: broken }, 0)).toEqual([]);
    expect(publications.of(acme)).toMatchObject({ sinceRevision: 5 });
    expect(publications.current(acmeShard)).toMatchObject({ revision: 5 });
  });

  test("need their own shard and those of their material, each since it held what is needed", () => {
    const publications = new Publications(counts);
    const before = configOf({ acme: { key: 1 } });
    const after = configOf({ acme: { key: 2 } });
    const keys = shardOfMaterial(materialOf("default/acme/hmac", keyOf(2)), counts);
    publish(publications, before, 1);
    publish(publications, after, 4, 0, keys);
    publish(publications, after, 6, 0, acmeShard);
    const publication = publications.of(acme);
    expect(publication && publications.needs(publication)).toMatchObject([
      { shard: acmeShard, sinceRevision: 6, current: { revision: 6 } },
      { shard: keys, sinceRevision: 4, current: { revision: 4 } },
    ]);
  });

  test("whose material is not there apply nowhere", () => {
    const publications = new Publications(counts);
    publish(publications, configOf({ acme: { key: 1 } }), 1, 0, acmeShard);
    const publication = publications.of(acme);
    expect(publication && publications.needs(publication)[1]).toMatchObject({ sinceRevision: Number.MAX_SAFE_INTEGER });
    expect(publications.part(acme, "uid-acme")).toBeUndefined();
  });

  test("can be held with their material: the same object each time, of that uid only", () => {
    const publications = new Publications(counts);
    const config = configOf({ acme: { key: 1 } });
    publish(publications, config, 1);
    const part = publications.part(acme, "uid-acme");
    expect(part).toEqual({ kind: "WebhookPartner", config: config.partners[0], material: config.material });
    expect(publications.part(acme, "uid-acme")).toBe(part);
    expect(publications.part(acme, "another")).toBeUndefined();
    expect(publications.part("WebhookPartner/default/nobody", "uid-acme")).toBeUndefined();
  });
});
