// Reports of the runtime's pods and the rollout of each resource. It writes nothing.
import type { ConfigzError, ConfigzMark, ConfigzObserved, ConfigzShard } from "../../crds/configz.ts";
import { reasons } from "../../crds/reasons.ts";
import { byText } from "../../crds/compile/canonical-json.ts";

/** The last report of one ready pod, indexed. */
export interface PodReport {
  /** By shard name. */
  readonly shards: Readonly<Record<string, ConfigzShard>>;
  /** By `<Kind>/<namespace>/<name>`. */
  readonly errors: ReadonlyMap<string, ConfigzError>;
  /** By {@link markKey}. */
  readonly marks: ReadonlyMap<string, ConfigzMark>;
  /** Catalogs that the pod compared with their stores, by uid. @default none */
  readonly observed?: ReadonlyMap<string, ConfigzObserved>;
}

/** One ready pod of the runtime's Service. */
export interface PodView {
  readonly name: string;
  /** Time of its discovery, monotonic milliseconds. */
  readonly sinceMs: number;
  /** Undefined before its first response. */
  readonly report: PodReport | undefined;
  /** Error of its last poll; undefined while it responds. */
  readonly silence: string | undefined;
}

/** All pods at one moment. */
export interface Pods {
  readonly list: readonly PodView[];
  /** Start of the time without pods, monotonic milliseconds; undefined while there is a pod. */
  readonly emptySinceMs: number | undefined;
}

/** A shard that a pod must have applied for a resource to be in force there. */
export interface Need {
  readonly shard: string;
  /** The first revision with the needed content. */
  readonly sinceRevision: number;
  /** The present version of the shard. */
  readonly current: { readonly revision: number; readonly sha256: string };
}

/** One resource that is published. */
export interface Rolled {
  /** `<Kind>/<namespace>/<name>` */
  readonly key: string;
  readonly generation: number;
  readonly needs: readonly Need[];
  /** Time of publication of its present form, or of its first observation, monotonic milliseconds. */
  readonly publishedAtMs: number;
  /**
   * True when its status is programmed for this form already. It stays so until a pod reports otherwise.
   */
  readonly isProgrammed: boolean;
}

/** State of a rollout over the ready pods. `untilMs`: time of the next check, without a report too. */
export type Rollout =
  | { readonly kind: "programmed"; readonly untilMs?: number }
  /** Some pods are behind, within the grace time. */
  | { readonly kind: "waiting"; readonly untilMs: number }
  /** Some pods are behind; `pods` names them for users. */
  | { readonly kind: "lagging"; readonly pods: string }
  | { readonly kind: "failed"; readonly pod: string; readonly reason: string; readonly message: string }
  | { readonly kind: "noPods" };

export interface RolloutTimes {
  /** Grace time after a change, in milliseconds. */
  readonly graceMs: number;
  /** Grace time without pods for a programmed resource, in milliseconds. */
  readonly emptyGraceMs: number;
}

export const rolloutTimesDefault: RolloutTimes = { graceMs: 5_000, emptyGraceMs: 30_000 };

const podsNamedMax = 3;

interface Behind {
  readonly pod: PodView;
  readonly cause: string | undefined;
  readonly error?: ConfigzError | undefined;
}

/**
 * Decides whether every ready pod has applied a resource: for each needed shard it runs a revision with the resource,
 * and reports no error for it. A pod without a response keeps its earlier state.
 */
export function rolloutOf(rolled: Rolled, pods: Pods, nowMs: number, times: RolloutTimes): Rollout {
  if (pods.list.length === 0) return withoutPods(rolled, pods.emptySinceMs ?? nowMs, nowMs, times);
  const behind = pods.list.flatMap((pod) => behindOf(pod, rolled) ?? []);
  if (behind.length === 0) return { kind: "programmed" };
  const untilMs = Math.max(rolled.publishedAtMs, ...behind.map(({ pod }) => pod.sinceMs)) + times.graceMs;
  if (nowMs < untilMs) return { kind: "waiting", untilMs };
  const failed = behind.find(({ error }) => error !== undefined);
  if (failed?.error === undefined) return { kind: "lagging", pods: podsText(behind, pods.list.length) };
  const { reason, message } = failed.error;
  return { kind: "failed", pod: failed.pod.name, reason, message };
}

function withoutPods(
  { isProgrammed, publishedAtMs }: Rolled,
  sinceMs: number,
  nowMs: number,
  times: RolloutTimes,
): Rollout {
  const untilMs = isProgrammed ? sinceMs + times.emptyGraceMs : Math.max(sinceMs, publishedAtMs) + times.graceMs;
  if (nowMs >= untilMs) return { kind: "noPods" };
  return { kind: isProgrammed ? "programmed" : "waiting", untilMs };
}

/** The cause why a pod has not applied the resource; undefined when it has. */
function behindOf(pod: PodView, { key, generation, needs, isProgrammed }: Rolled): Behind | undefined {
  const { report, silence } = pod;
  if (report === undefined)
    return isProgrammed ? undefined : { pod, cause: silence === undefined ? "no report yet" : "no response" };
  const error = report.errors.get(key);
  if (error?.generation === generation) return { pod, cause: undefined, error };
  const unmet = needs.find((need) => !isMet(need, report.shards[need.shard]));
  if (unmet === undefined) return undefined;
  const fault = report.shards[unmet.shard]?.error;
  const said = fault === undefined ? undefined : `${unmet.shard}: ${fault}`;
  return { pod, cause: silence === undefined ? said : "no response" };
}

/**
 * Returns true for the current version and for an earlier revision with the needed content. Another version that is not
 * earlier belongs to the numbering of a deleted Secret.
 */
function isMet({ sinceRevision, current }: Need, shard: ConfigzShard | undefined): boolean {
  if (shard === undefined) return false;
  return shard.sha256 === current.sha256 || (shard.revision >= sinceRevision && shard.revision < current.revision);
}

function podsText(behind: readonly Behind[], ready: number): string {
  const sorted = behind.toSorted((one, other) => byText(one.pod.name, other.pod.name));
  const named = sorted
    .slice(0, podsNamedMax)
    .map(({ pod, cause }) => (cause === undefined ? pod.name : `${pod.name} (${cause})`));
  const more = sorted.length > podsNamedMax ? [`${sorted.length - podsNamedMax} more`] : [];
  return `${[...named, ...more].join(", ")} of ${ready} ready ${ready === 1 ? "pod" : "pods"}`;
}

/** Key of a mark. A pod reports one mark of each kind per partner. */
export function markKey({ uid, reason }: Pick<ConfigzMark, "uid" | "reason">): string {
  return reason === "PartnerDisabled" ? uid : validationKey(uid);
}

function validationKey(uid: string): string {
  return `${uid} validation`;
}

/** The last endpoint validation of this generation, over all pods. */
export function validationBy(pods: Pods, uid: string, generation: number): ConfigzMark | undefined {
  const marks = pods.list
    .flatMap(({ report }) => report?.marks.get(validationKey(uid)) ?? [])
    .filter((mark) => mark.generation === generation);
  return marks.toSorted((one, other) => byText(one.since, other.since)).at(-1);
}

/** The comparison of a catalog with its stores, which one pod reports. */
export function observedBy(pods: Pods, uid: string): ConfigzObserved | undefined {
  return pods.list.flatMap(({ report }) => report?.observed?.get(uid) ?? [])[0];
}

/** How a catalog compares with its stores. */
export type ObservedFacts = Pick<ConfigzObserved, "reason" | "message" | "generation" | "metrics">;

/** The condition `Observed`. `Ready` does not depend on it: queries return what the stores contain. */
export function observedDrafts(observed: ObservedFacts | undefined) {
  if (observed === undefined) return [];
  const { reason, message, generation: observedGeneration } = observed;
  return [{ type: "Observed", status: reasons.Observed[reason].status, reason, message, observedGeneration }];
}

/** The message of any pod that disabled this generation of a partner. */
export function disabledBy(pods: Pods, uid: string, generation: number): string | undefined {
  for (const { report } of pods.list) {
    const mark = report?.marks.get(uid);
    if (mark?.generation === generation) return mark.message;
  }
  return undefined;
}
