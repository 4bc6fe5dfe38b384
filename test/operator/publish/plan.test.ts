import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { materialIdsOf } from "../../../crds/material.ts";
import { type KeyShard, shardOfMaterial, shardOfResource } from "../../../crds/shards/shards.ts";
import { planPublish, type PublishedState } from "../../../operator/publish/plan.ts";
import { keyOf, materialOf } from "../../crds/compile/resources.ts";
import { configOf, counts, shardsOf, token, writtenStates } from "./configs.ts";
import { runsOf } from "../../support/soak.ts";

const plan = (
  published: ReadonlyMap<string, PublishedState>,
  config: ReturnType<typeof configOf>,
  configzToken = token,
) => planPublish(published, shardsOf(config, configzToken), counts);
const names = (groups: ReturnType<typeof plan>) => groups.map((group) => group.map(({ name }) => name));

/** The shard of keys that a group of a plan writes first. */
function keysIn(group: ReturnType<typeof plan>[number] | undefined): KeyShard {
  const shard = group?.[0]?.shard;
  if (shard === undefined || !("material" in shard)) throw new Error("no shard of keys is written");
  return shard;
}

const acmeShard = shardOfResource("WebhookPartner", { namespace: "default", name: "acme" }, counts);
const keyShard = (byte: number) => shardOfMaterial(materialOf("default/acme/hmac", keyOf(byte)), counts);
/** Two bytes whose material lies in the same shard of keys, and one whose material lies in the other. */
const [first = 0, same = 0] = Array.from({ length: 40 }, (_, byte) => byte).filter(
  (byte) => keyShard(byte) === "keys-00",
);
const other = Array.from({ length: 40 }, (_, byte) => byte).find((byte) => keyShard(byte) === "keys-01") ?? 0;

describe("the plan", () => {
  test("is empty for what is published already", () => {
    const config = configOf({ acme: { key: 1 } }, ["shop"]);
    expect(names(plan(writtenStates(shardsOf(config)), config))).toEqual([[], [], []]);
  });

  test("of the first publication writes every shard once, those of keys first", () => {
    expect(names(plan(new Map(), configOf({ acme: { key: 1 } })))).toEqual([
      ["keys-00", "keys-01"],
      ["config-00", "config-01", "config-02"],
      [],
    ]);
  });

  test("of an edit writes one shard", () => {
    const published = writtenStates(shardsOf(configOf({ acme: { key: 1 } })));
    expect(names(plan(published, configOf({ acme: { key: 1, maxInFlight: 9 } })))).toEqual([[], [acmeShard], []]);
  });

  test("of a rotation within a shard of keys keeps the old key until no resource names it", () => {
    const published = writtenStates(shardsOf(configOf({ acme: { key: first } })));
    const groups = plan(published, configOf({ acme: { key: same } }));
    expect(names(groups)).toEqual([["keys-00"], [acmeShard], ["keys-00"]]);
    const idsOf = (group: number) => Object.keys(keysIn(groups[group]).material);
    expect(idsOf(0).sort()).toEqual([first, same].map((byte) => materialOf("default/acme/hmac", keyOf(byte))).sort());
    expect(idsOf(2)).toEqual([materialOf("default/acme/hmac", keyOf(same))]);
  });

  test("of a rotation from one shard of keys to another adds first and takes away last", () => {
    const published = writtenStates(shardsOf(configOf({ acme: { key: first } })));
    expect(names(plan(published, configOf({ acme: { key: other } })))).toEqual([["keys-01"], [acmeShard], ["keys-00"]]);
  });

  test("of a new token writes one shard of keys", () => {
    const config = configOf({ acme: { key: 1 } });
    const groups = plan(writtenStates(shardsOf(config)), config, "another");
    expect(names(groups)).toEqual([["keys-00"], [], []]);
    expect(keysIn(groups[0]).configzToken).toBe("another");
  });

  test.each([
    ["is gone", undefined],
    ["cannot be read", { shard: undefined, sha256: undefined, isIntact: true }],
    ["has lost its label", "label"],
  ] as const)("writes a shard that %s, and no other", (_what, state) => {
    const config = configOf({ acme: { key: 1 } });
    for (const name of ["keys-01", "config-02"]) {
      const published = writtenStates(shardsOf(config));
      const known = published.get(name);
      if (state === undefined) published.delete(name);
      else if (state === "label" && known !== undefined) published.set(name, { ...known, isIntact: false });
      else if (state !== "label") published.set(name, state);
      expect(names(plan(published, config)).flat()).toEqual([name]);
    }
  });
});

const partnerStates = fc.dictionary(
  fc.constantFrom("acme", "beta", "gamma", "delta"),
  fc.record({ key: fc.integer({ min: 1, max: 6 }), maxInFlight: fc.integer({ min: 1, max: 3 }) }),
);
/** No two partners have the same key, since only one of them would be in force. */
const distinct = partnerStates.map((states) =>
  Object.fromEntries(
    Object.entries(states).map(([name, state]) => [name, { ...state, key: state.key * 10 + name.length }]),
  ),
);
const histories = fc.array(
  fc.record({ states: distinct, quotas: fc.subarray(["shop", "desk"]), writes: fc.nat({ max: 12 }) }),
  { minLength: 1, maxLength: 5 },
);

/** Material that published resources name and that is not published. */
function missing(published: ReadonlyMap<string, PublishedState>): readonly string[] {
  const shards = [...published.values()].flatMap(({ shard }) => shard ?? []);
  const there = new Set(shards.flatMap((shard) => ("material" in shard ? Object.keys(shard.material) : [])));
  const named = shards.flatMap((shard) => ("partners" in shard ? shard.partners.flatMap(materialIdsOf) : []));
  return named.filter((id) => !there.has(id));
}

describe("whatever was published, and wherever it was interrupted", () => {
  test("no published resource is ever without its material", () => {
    fc.assert(
      fc.property(histories, (history) => {
        const published = new Map<string, PublishedState>();
        for (const { states, quotas, writes } of history) {
          const steps = plan(published, configOf(states, quotas)).flat().slice(0, writes);
          for (const { name, shard, sha256 } of steps) {
            published.set(name, { shard, sha256, isIntact: true });
            expect(missing(published)).toEqual([]);
          }
        }
      }),
      { numRuns: runsOf(100) },
    );
  });

  test("the next plan leads to the same bytes, and then to nothing to do", () => {
    fc.assert(
      fc.property(histories, (history) => {
        const published = new Map<string, PublishedState>();
        for (const { states, quotas, writes } of history) {
          for (const { name, shard, sha256 } of plan(published, configOf(states, quotas)).flat().slice(0, writes))
            published.set(name, { shard, sha256, isIntact: true });
        }
        const last = configOf(history.at(-1)?.states ?? {}, history.at(-1)?.quotas);
        for (const { name, shard, sha256 } of plan(published, last).flat())
          published.set(name, { shard, sha256, isIntact: true });
        expect(names(plan(published, last)).flat()).toEqual([]);
        const hashes = [...published].map(([name, { sha256 }]) => `${name} ${sha256}`);
        expect(new Set(hashes)).toEqual(new Set([...shardsOf(last)].map(([name, { sha256 }]) => `${name} ${sha256}`)));
      }),
      { numRuns: runsOf(100) },
    );
  });
});
