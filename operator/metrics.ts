import type { Registry } from "prom-client";
import { byText } from "../crds/compile/canonical-json.ts";
import type { HeldReason } from "../crds/config.ts";
import type { ResourceResult } from "../crds/compile/resource-result.ts";
import { lastingConditions, passingConditions, reportedConditions, warningConditions } from "./conditions.ts";
import { kindsInOrder, type Condition, type ResourceObject } from "./resource-types.ts";
import { instrumentsOf } from "../limits/instruments.ts";
import { version } from "./version.ts";

/** The metrics of the operator, without those of `kube/`. */
export type OperatorMetrics = ReturnType<typeof createOperatorMetrics>;

/** Upper bounds in seconds, from one compilation to a hanging rollout. */
const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300] as const;

/** Registers the metrics; once per registry. */
export function createOperatorMetrics(registry: Registry) {
  const { counter, gauge, histogram } = instrumentsOf(registry, "heliograph_");
  gauge("build_info", "1 for the running version", ["version"]).set({ version }, 1);
  return {
    compileSeconds: histogram("compile_seconds", "Duration of a compilation", secondsBuckets),
    publishSeconds: histogram("publish_seconds", "Duration of writing the changed shards", secondsBuckets),
    programmedSeconds: histogram(
      "programmed_seconds",
      "Time from the publication of a resource until all ready pods applied it",
      secondsBuckets,
    ),
    shardWrites: counter("shard_writes_total", "Writes of a shard", ["result"]),
    shardBytes: gauge("shard_bytes", "Size of a shard, gzipped", ["shard"]),
    statusWrites: counter("status_writes_total", "Writes of a status", ["kind", "result"]),
    lastGood: gauge(
      "last_good_resources",
      "Resources whose last good version is in force because a reference cannot be read",
      ["kind"],
    ),
    heldPartners: gauge("held_partners", "Partners whose deliveries are held, by reason", ["reason"]),
    pods: gauge("runtime_pods", "Ready pods of the runtime, by whether they respond to the operator", ["answers"]),
    policyReloads: counter("policy_reloads_total", "Reads of a changed policy file", ["result"]),
  };
}

const heldReasons = { unresolved: 0, not_permitted: 0, conflicted: 0 } as const satisfies Record<HeldReason, 0>;

/** Counts last good versions and held partners. */
export function measureStandIns({ lastGood, heldPartners }: OperatorMetrics, results: readonly ResourceResult[]): void {
  for (const kind of kindsInOrder)
    lastGood.set({ kind }, results.filter((one) => one.kind === kind && one.lastGood !== undefined).length);
  for (const reason of Object.keys(heldReasons))
    heldPartners.set({ reason }, results.filter(({ held }) => held === reason).length);
}

/** Bound on resources with their own series. Those that are not Ready come first. */
export const resourcesShownMax = 1_000;

/** Registers gauges of the resources' conditions, computed at each scrape. */
export function registerConditionMetrics(registry: Registry, objects: () => readonly ResourceObject[]): void {
  const { gauge } = instrumentsOf(registry, "heliograph_");
  const help = `1 for the current status of a condition of a resource; limited to ${resourcesShownMax} resources`;
  const each = gauge("resource_condition", help, ["kind", "namespace", "name", "type", "status"], {
    collect: () => {
      each.reset();
      for (const { kind, metadata, status } of shown(objects())) {
        const { namespace, name } = metadata;
        for (const { type, status: held } of known(status?.conditions))
          each.set({ kind, namespace, name, type, status: held }, 1);
      }
    },
  });
  const all = gauge("resources", "Resources by the status of each condition", ["kind", "type", "status"], {
    collect: () => {
      all.reset();
      for (const kind of kindsInOrder) all.set({ kind, type: "Ready", status: "True" }, 0);
      for (const { kind, status } of objects())
        for (const { type, status: held } of known(status?.conditions)) all.inc({ kind, type, status: held });
    },
  });
}

/** Registers the gauge of the watched namespaces, computed at each scrape. */
export function registerNamespaceMetrics(registry: Registry, states: () => ReadonlyMap<string, boolean>): void {
  const help = "1 if the operator may list a watched namespace, else 0; * is all namespaces";
  // `namespace` is the label of the scraped pod.
  const labels = ["watched_namespace"] as const;
  const { gauge } = instrumentsOf(registry, "heliograph_");
  const available = gauge("watched_namespace_available", help, labels, {
    collect: () => {
      available.reset();
      for (const [namespace, isAvailable] of states())
        available.set({ watched_namespace: namespace }, isAvailable ? 1 : 0);
    },
  });
}

const shownTypes: ReadonlySet<string> = new Set([
  ...lastingConditions,
  ...passingConditions,
  ...reportedConditions,
  ...warningConditions,
]);

function known(conditions: readonly Condition[] = []): readonly Condition[] {
  return conditions.filter(({ type }) => shownTypes.has(type));
}

function shown(objects: readonly ResourceObject[]): readonly ResourceObject[] {
  if (objects.length <= resourcesShownMax) return objects;
  const rank = ({ status }: ResourceObject): number => {
    return status?.conditions?.some(({ type, status: held }) => type === "Ready" && held === "True") === true ? 1 : 0;
  };
  const sorted = objects.toSorted((one, other) => rank(one) - rank(other) || byText(placeOf(one), placeOf(other)));
  return sorted.slice(0, resourcesShownMax);
}

function placeOf({ kind, metadata }: ResourceObject): string {
  return `${kind}/${metadata.namespace}/${metadata.name}`;
}
