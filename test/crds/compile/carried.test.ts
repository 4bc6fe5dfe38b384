import { describe, expect, test } from "vitest";
import { compile } from "../../../crds/compile/compile.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { partsOf } from "../../../crds/part.ts";
import { allowAll, type InstallationPolicy } from "../../../crds/policy.ts";
import type { Kind, Resource } from "../../../crds/resource.ts";
import type { Changes } from "../valid-objects.ts";
import { partnerSecrets as secrets, resourceOf } from "./resources.ts";

const resources: readonly Resource[] = [
  resourceOf("WebhookPartner", {}),
  resourceOf("MetricCatalog", {}),
  resourceOf("QueryClassQuota", {}),
];
const before = compile({ resources, secrets, policy: allowAll }).config;
const carried = [...partsOf(before).values()];
const granting = (grant: Partial<InstallationPolicy["grants"][number]>): InstallationPolicy => ({
  grants: allowAll.grants.map((all) => ({ ...all, ...grant })),
});

/** The parts without their objects, beside another object. */
function carriedWith(others: readonly Resource[], policy = allowAll, nowMs = 0) {
  const moment = { partOf: () => undefined, nowMs, lastGoodMs: 1_000 };
  return compile({ resources: others, secrets, policy, carried, before: moment });
}

describe("parts of objects that cannot be read", () => {
  test("give the very configuration that the objects gave", () => {
    expect(carriedWith([])).toMatchObject({ config: before, results: [] });
  });

  test("are in the order of all parts, beside those of objects that can be read", () => {
    const names = ({ partners }: RuntimeConfig) => partners.map(({ namespace, name }) => `${namespace}/${name}`);
    const near = (namespace: string) => {
      const { metadata, ...rest } = resourceOf("WebhookPartner", { "signing.keys[0].secretRef.name": "none" });
      return { ...rest, metadata: { ...metadata, namespace, uid: namespace } } as Resource;
    };
    const { config } = carriedWith([near("a"), near("z")]);
    expect(names(config)).toEqual(["a/example", "default/example", "z/example"]);
  });

  test.each<[Kind, Changes]>([
    ["MetricCatalog", {}],
    ["QueryClassQuota", {}],
    ["WebhookPartner", {}],
  ])("keep their unique keys from an older %s elsewhere", (kind, changes) => {
    const { metadata, ...rest } = resourceOf(kind, changes);
    const older = { ...rest, metadata: { ...metadata, namespace: "other", creationTimestamp: "2000-01-01T00:00:00Z" } };
    const here = new Map([...secrets].map(([name, entries]) => [name.replace("default/", "other/"), entries]));
    const moment = { partOf: () => undefined, nowMs: 0, lastGoodMs: 1_000 };
    const found = new Map([...secrets, ...here]);
    const input = { resources: [older as Resource], secrets: found, policy: allowAll, before: moment };
    expect(compile(input).results[0]?.accepted.status).toBe(true);
    const { results, config } = compile({ ...input, carried });
    expect(results[0]?.accepted).toMatchObject({ status: false, message: expect.stringContaining("default/") });
    expect(config).toEqual(before);
  });

  test("lose what the policy withdraws: a partner is held, a catalog is out of force", () => {
    const { config } = carriedWith([], granting({ tenants: [], storeHosts: [] }));
    expect(config.partners).toMatchObject([{ held: "not_permitted", state: "Paused", subscriptions: [] }]);
    expect(config.catalogs).toEqual([]);
    expect(config.quotas).toEqual(before.quotas);
  });

  test("end as a last good version at its time, and before it not", () => {
    const dated = carried.map((part) =>
      part.kind === "QueryClassQuota" ? part : { ...part, config: { ...part.config, lastGoodSinceMs: 10 } },
    ) as typeof carried;
    const at = (nowMs: number) =>
      compile({
        resources: [],
        secrets,
        policy: allowAll,
        carried: dated,
        before: { partOf: () => undefined, nowMs, lastGoodMs: 100 },
      }).config;
    expect([at(109).partners[0]?.held, at(109).catalogs.length]).toEqual([undefined, 1]);
    expect(at(110).partners).toMatchObject([{ held: "unresolved", signing: { keys: [] } }]);
    expect([at(110).catalogs.length, Object.keys(at(110).material)]).toEqual([0, []]);
  });
});
