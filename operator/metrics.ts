import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { byText } from "../crds/compile/canonical-json.ts";
import type { HeldReason } from "../crds/config.ts";
import type { ResourceResult } from "../crds/compile/resource-result.ts";
import { lastingConditions, passingConditions, reportedConditions, warningConditions } from "./conditions.ts";
import { kindsInOrder, type Condition, type ResourceObject } from "./resource-types.ts";
import { version } from "./version.ts";

/** The metrics of the operator, without those of `kube/`. */
export type OperatorMetrics = ReturnType<typeof createOperatorMetrics>;

/** Upper bounds in seconds, from one compilation to a hanging rollout. */
const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300] as const;

/** Registers the metrics; once per registry. */
export function createOperatorMetrics(registry: Registry) {
  const registers = [registry];
  const buckets = [...secondsBuckets];
  const named = (name: string, help: string) => ({ registers, name: `heliograph_${name}`, help });
  new Gauge({ ...named("build_info", "1 for the version that runs"), labelNames: ["version"] }).set({ version }, 1);
  return {
    compileSeconds: new Histogram({
      ...named("compile_seconds", "Duration of a compilation"),
      buckets,
    }),
    publishSeconds: new Histogram({
      ...named("publish_seconds", "Duration of writing the changed shards"),
      buckets,
    }),
    programmedSeconds: new Histogram({
      ...named("programmed_seconds", "From the publication of a resource until every ready pod applied it"),
      buckets,
    }),
    shardWrites: new Counter({
      ...named("shard_writes_total", "Writes of a shard"),
      labelNames: ["result"] as const,
    }),
    shardBytes: new Gauge({
      ...named("shard_bytes", "Size of a shard, gzipped"),
      labelNames: ["shard"] as const,
    }),
    statusWrites: new Counter({
      ...named("status_writes_total", "Writes of a status"),
      labelNames: ["kind", "result"] as const,
    }),
    lastGood: new Gauge({
      ...named(
        "last_good_resources",
        "Resources whose last good version is in force, since a reference cannot be read",
      ),
      labelNames: ["kind"] as const,
    }),
    heldPartners: new Gauge({
      ...named("held_partners", "Partners whose deliveries are held, by reason"),
      labelNames: ["reason"] as const,
    }),
    pods: new Gauge({
      ...named("runtime_pods", "Ready pods of the runtime, by whether they respond to the operator"),
      labelNames: ["answers"] as const,
    }),
    policyReloads: new Counter({
      ...named("policy_reloads_total", "Reads of a changed policy file"),
      labelNames: ["result"] as const,
    }),
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
  const registers = [registry];
  const each = new Gauge({
    registers,
    name: "heliograph_resource_condition",
    help: `1 for the status that a condition of a resource has; of at most ${resourcesShownMax} resources`,
    labelNames: ["kind", "namespace", "name", "type", "status"] as const,
    collect: () => {
      each.reset();
      for (const { kind, metadata, status } of shown(objects())) {
        const { namespace, name } = metadata;
        for (const { type, status: held } of known(status?.conditions))
          each.set({ kind, namespace, name, type, status: held }, 1);
      }
    },
  });
  const all = new Gauge({
    registers,
    name: "heliograph_resources",
    help: "Resources by the status of each condition",
    labelNames: ["kind", "type", "status"] as const,
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
  const available = new Gauge({
    registers: [registry],
    name: "heliograph_watched_namespace_available",
    help: "1 while the operator may list a watched namespace, else 0; * is every namespace",
    // `namespace` is the label of the scraped pod.
    labelNames: ["watched_namespace"] as const,
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
