import { describe, expect, test } from "vitest";
import type { ConfigzError, ConfigzMark, ConfigzShard } from "../../../crds/configz.ts";
import { effectsOf } from "../../../operator/controllers/report-effects.ts";
import type { PodReport } from "../../../operator/observe/rollout.ts";

const shard = (revision: number): ConfigzShard => ({ revision, sha256: `of ${revision}` });
const reportOf = (shards: Readonly<Record<string, ConfigzShard>>, more: Partial<PodReport> = {}): PodReport => ({
  shards,
  errors: new Map(),
  marks: new Map(),
  ...more,
});
const effects = (before: PodReport | undefined, after: PodReport, current = 5) =>
  effectsOf(before, after, () => shard(current));

describe("a report", () => {
  test("touches the shards that moved, and no others", () => {
    const before = reportOf({ "config-00": shard(4), "config-01": shard(5) });
    expect(effects(before, reportOf({ "config-00": shard(5), "config-01": shard(5) }))).toEqual({
      moved: ["config-00"],
      fellBack: [],
      named: [],
    });
    expect(effects(before, before)).toEqual({ moved: [], fellBack: [], named: [] });
  });

  test("with a new error of a shard touches it", () => {
    const after = reportOf({ "config-00": { ...shard(4), error: "torn" } });
    expect(effects(reportOf({ "config-00": shard(4) }), after).moved).toEqual(["config-00"]);
  });

  test("of a new pod queues every resource in shards of which it runs an old version", () => {
    const after = reportOf({ "config-00": shard(3), "config-01": shard(5) });
    expect(effects(undefined, after)).toMatchObject({ moved: ["config-00", "config-01"], fellBack: ["config-00"] });
  });

  test("of a pod that went back does so too", () => {
    expect(effects(reportOf({ "config-00": shard(5) }), reportOf({ "config-00": shard(2) })).fellBack).toEqual([
      "config-00",
    ]);
    expect(effects(reportOf({ "config-00": shard(2) }), reportOf({ "config-00": shard(3) })).fellBack).toEqual([]);
  });

  test("names the resources whose errors or marks came, went or changed", () => {
    const error = (name: string, message: string): [string, ConfigzError] => [
      `WebhookPartner/shop/${name}`,
      { kind: "WebhookPartner", namespace: "shop", name, generation: 1, reason: "Broken", message },
    ];
    const mark = (name: string): [string, ConfigzMark] => [
      `uid-${name}`,
      {
        kind: "WebhookPartner",
        namespace: "shop",
        name,
        uid: `uid-${name}`,
        generation: 1,
        reason: "PartnerDisabled",
        message: "410",
        since: "",
      },
    ];
    const before = reportOf(
      {},
      { errors: new Map([error("a", "x"), error("b", "x"), error("c", "x")]), marks: new Map([mark("d")]) },
    );
    const after = reportOf({}, { errors: new Map([error("a", "x"), error("b", "y")]), marks: new Map([mark("e")]) });
    expect(effects(before, after).named.toSorted()).toEqual(
      ["b", "c", "d", "e"].map((name) => `WebhookPartner/shop/${name}`),
    );
  });

  test("names a catalog that was compared with its stores, with another result or no longer", () => {
    const observed = (message: string): NonNullable<PodReport["observed"]> =>
      new Map([
        [
          "uid-ops",
          {
            kind: "MetricCatalog",
            namespace: "shop",
            name: "ops",
            uid: "uid-ops",
            generation: 1,
            status: "False",
            reason: "Mismatch",
            message,
            metrics: [],
          },
        ],
      ]);
    const of = (message: string): PodReport => reportOf({}, { observed: observed(message) });
    expect(effects(reportOf({}), of("a")).named).toEqual(["MetricCatalog/shop/ops"]);
    expect(effects(of("a"), of("b")).named).toEqual(["MetricCatalog/shop/ops"]);
    expect(effects(of("a"), reportOf({})).named).toEqual(["MetricCatalog/shop/ops"]);
    expect(effects(of("a"), of("a")).named).toEqual([]);
  });
});
