import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { partPermissionProblems } from "../../../crds/checks/permissions.ts";
import { canonicalJson } from "../../../crds/compile/canonical-json.ts";
import { compile, type CompileResult, createCompiler } from "../../../crds/compile/compile.ts";
import { uidOf } from "../../../crds/compile/origin.ts";
import { type ConfigPart, partsOf } from "../../../crds/part.ts";
import { allowAll, type InstallationPolicy } from "../../../crds/policy.ts";
import type { Resource, WebhookPartner } from "../../../crds/resource.ts";
import { lastGoodMs } from "./generations.ts";
import { keyOf, resourceOf } from "./resources.ts";

const names = ["a", "b", "c"];
const tenantLists = [["lumen"], ["nova"], ["lumen", "nova"], ["*"]];
const keyLists = [["x"], ["y"], ["x", "y"], ["y", "x"]];
const policies: readonly InstallationPolicy[] = [
  allowAll,
  { grants: allowAll.grants.map((grant) => ({ ...grant, tenants: ["lumen"] })) },
  { grants: allowAll.grants.map((grant) => ({ ...grant, producers: ["till"], cidrs: [], plaintext: false })) },
  { grants: [] },
];

/** What one partner says at one moment. */
const versions = fc.record({
  tenants: fc.constantFrom(...tenantLists),
  producers: fc.constantFrom([], ["till"], ["till", "desk"]),
  keys: fc.constantFrom(...keyLists),
  secret: fc.constantFrom("s1", "s1", "s2", "typo"),
  cidrs: fc.constantFrom([], ["10.0.0.0/8"], ["10.1.0.0/16"]),
  endsMs: fc.option(fc.integer({ min: 1, max: 3 * lastGoodMs }), { nil: undefined }),
});
type Version = typeof versions extends fc.Arbitrary<infer T> ? T : never;

const partners = fc.oneof(
  { weight: 6, arbitrary: versions },
  { weight: 5, arbitrary: fc.constant("same" as const) },
  { weight: 1, arbitrary: fc.constant("gone" as const) },
);

/**
 * One moment: what each partner says, if it is there, which Secrets there are, the policy, and how much time passed.
 */
const moments = fc.array(
  fc.record({
    partners: fc.array(partners, { minLength: names.length, maxLength: names.length }),
    secrets: fc.subarray(["s1", "s2"]),
    byte: fc.integer({ min: 1, max: 3 }),
    policy: fc.constantFrom(0, 0, 0, 1, 2, 3),
    passedMs: fc.constantFrom(0, 1_000, lastGoodMs / 2, lastGoodMs),
  }),
  { minLength: 1, maxLength: 7 },
);
type Moment = typeof moments extends fc.Arbitrary<(infer T)[]> ? T : never;

function resourceAt(name: string, { tenants, producers, keys, secret, cidrs, endsMs }: Version): Resource {
  const spec = keys.map((id, index) => {
    const end =
      endsMs === undefined || index === 0 ? {} : { notAfter: new Date(endsMs).toISOString().replace(/\.\d+Z$/u, "Z") };
    return { id, secretRef: { name: secret, key: `${name}${id}` }, ...end };
  });
  const changes = {
    "signing.keys": spec,
    "subscriptions[0].tenants": tenants,
    "subscriptions[0].producers": producers,
    "networks.allowCidrs": cidrs,
  };
  return resourceOf("WebhookPartner", changes, {
    name,
    creationTimestamp: `2026-01-0${names.indexOf(name) + 1}T00:00:00Z`,
  });
}

/** Keys of one partner differ; in the second Secret they are those of another partner now and then. */
const secretsAt = ({ secrets, byte }: Moment) =>
  new Map(
    secrets.map((secret, index) => {
      const entries = names.flatMap((name, place) =>
        ["x", "y"].map((id, more) => [`${name}${id}`, keyOf(1 + ((2 * place + more + index * byte) % 6))] as const),
      );
      return [`default/${secret}`, Object.fromEntries(entries)];
    }),
  );

interface Seen {
  readonly result: CompileResult;
  readonly resources: readonly Resource[];
  readonly policy: InstallationPolicy;
  readonly nowMs: number;
  readonly again: CompileResult;
}

/** Compiles the moments one after the other, each with what the one before left in force, and each once more. */
function history(list: readonly Moment[], compiler: typeof compile = compile): readonly Seen[] {
  let parts: ReadonlyMap<string, ConfigPart> = new Map();
  let present: readonly (Resource | undefined)[] = [];
  let nowMs = 0;
  return list.map((moment) => {
    nowMs += moment.passedMs;
    present = moment.partners.map((version, index) =>
      version === "gone" ? undefined : version === "same" ? present[index] : resourceAt(names[index] ?? "", version),
    );
    const resources = present.filter((resource) => resource !== undefined);
    const policy = policies[moment.policy] ?? allowAll;
    const input = (known: typeof parts) => ({
      resources,
      secrets: secretsAt(moment),
      policy,
      before: { partOf: (one: Resource) => known.get(uidOf(one)), nowMs, lastGoodMs },
    });
    const result = compiler(input(parts));
    parts = partsOf(result.config);
    const again = compiler(input(parts));
    return { result, resources, policy, nowMs, again };
  });
}

const specOf = ({ resources }: Seen, name: string) =>
  resources.find((one): one is WebhookPartner => one.kind === "WebhookPartner" && one.metadata.name === name)?.spec;

/** Holds something to be so at each moment of any history. */
function always(
  holds: (seen: Seen, before: Seen | undefined) => void,
  parameters: fc.Parameters<[readonly Moment[]]> = {},
): void {
  fc.assert(
    fc.property(moments, (list) => {
      const all = history(list);
      for (const [index, seen] of all.entries()) holds(seen, all[index - 1]);
    }),
    parameters,
  );
}

describe("whatever becomes of specs, Secrets and the policy,", () => {
  test("compiling again with the applied parts changes nothing", () => {
    always(({ result, again }) => expect(canonicalJson(again)).toBe(canonicalJson(result)));
  });

  test("a partner that was in the configuration stays in it for as long as it exists", () => {
    always((seen, before) => {
      const present = new Set(seen.result.config.partners.map(({ name }) => name));
      const kept = (before?.result.config.partners ?? []).filter(({ name }) => specOf(seen, name) !== undefined);
      expect(kept.filter(({ name }) => !present.has(name))).toEqual([]);
    });
  });

  test("nothing is sent or routed that the policy does not permit or the spec does not name", () => {
    always((seen) => {
      for (const config of seen.result.config.partners) {
        const { subscriptions } = config;
        const part: ConfigPart = { kind: "WebhookPartner", config, material: {} };
        const routed: ConfigPart = {
          ...part,
          config: { ...config, networks: { allowCidrs: [], allowPlaintext: false } },
        };
        expect(partPermissionProblems(config.held === undefined ? part : routed, seen.policy)).toEqual([]);
        const named = new Set(specOf(seen, config.name)?.subscriptions.flatMap(({ tenants }) => tenants));
        const routedTenants = subscriptions.flatMap(({ tenants }) => tenants);
        expect(routedTenants.filter((tenant) => !named.has("*") && !named.has(tenant))).toEqual([]);
      }
    });
  });

  test("no key is there that the spec does not name, or that has ended where the last good version signs", () => {
    always((seen) => {
      for (const { name, signing, lastGoodSinceMs } of seen.result.config.partners) {
        const named = new Map(specOf(seen, name)?.signing.keys.map((key) => [key.id, key]));
        expect(signing.keys.filter(({ id }) => !named.has(id))).toEqual([]);
        const old = lastGoodSinceMs === undefined ? [] : signing.keys;
        expect(old.filter(({ id }) => Date.parse(named.get(id)?.notAfter ?? "") <= seen.nowMs)).toEqual([]);
      }
    });
  });

  test("no last good version is too old, and the end of its time is reported", () => {
    always(({ result, nowMs }) => {
      const since = result.config.partners.flatMap(({ lastGoodSinceMs }) => lastGoodSinceMs ?? []);
      for (const ms of since) {
        expect(nowMs - ms).toBeLessThan(lastGoodMs);
        expect(result.againMs).toBeLessThanOrEqual(ms + lastGoodMs);
      }
    });
  });

  test("two active partners never sign with the same bytes, and every kept byte has a name in the configuration", () => {
    always(({ result: { config } }) => {
      const bytes = config.partners
        .filter(({ held }) => held === undefined)
        .flatMap(({ signing }) => [...new Set(signing.keys.map(({ material }) => config.material[material]))]);
      expect(new Set(bytes).size).toBe(bytes.length);
      const ids = new Set(config.partners.flatMap(({ signing }) => signing.keys.map(({ material }) => material)));
      expect(Object.keys(config.material).filter((id) => !ids.has(id))).toEqual([]);
    });
  });

  test("a compiler with a cache gives the result of a fresh one", () => {
    fc.assert(
      fc.property(moments, (list) => {
        const [fresh, remembering] = [history(list), history(list, createCompiler())];
        expect(canonicalJson(remembering.map(({ result, again }) => [result, again]))).toBe(
          canonicalJson(fresh.map(({ result, again }) => [result, again])),
        );
      }),
    );
  });
});

test("histories reach every way in which something stands in", () => {
  const reached = new Set<string>();
  const note = ({ result }: Seen): void => {
    for (const { held, lastGoodSinceMs, withdrawn } of result.config.partners) {
      reached.add(held ?? (lastGoodSinceMs === undefined ? "as it says" : "last good"));
      if (withdrawn !== undefined) reached.add("withdrawn");
    }
  };
  // The seed is fixed, since random histories now and then miss the rarest way.
  always(note, { seed: 1, numRuns: 200 });
  expect([...reached].toSorted()).toEqual([
    "as it says",
    "conflicted",
    "last good",
    "not_permitted",
    "unresolved",
    "withdrawn",
  ]);
});
