import type { ConfigzError, ConfigzMark, ConfigzShard } from "../../crds/configz.ts";
import { byText } from "../../crds/compile/canonical-json.ts";

/** What one ready pod said last, ready to be looked things up in. */
export interface PodReport {
  /** By shard name. */
  readonly shards: Readonly<Record<string, ConfigzShard>>;
  /** By `<Kind>/<namespace>/<name>`. */
  readonly errors: ReadonlyMap<string, ConfigzError>;
  /** By {@link markKey}. */
  readonly marks: ReadonlyMap<string, ConfigzMark>;
}

/** One pod that the runtime's Service calls ready. */
export interface PodView {
  readonly name: string;
  /** Since when it is known, monotonic milliseconds. */
  readonly sinceMs: number;
  /** Undefined before it answered for the first time. */
  readonly report: PodReport | undefined;
  /** Why it does not answer at present; undefined while it does. */
  readonly silence: string | undefined;
}

/** All pods at one moment. */
export interface Pods {
  readonly list: readonly PodView[];
  /** Since when there is none, monotonic milliseconds; undefined while there is one. */
  readonly emptySinceMs: number | undefined;
}

/** A shard that a pod must obey for a resource to be in force there. */
export interface Need {
  readonly shard: string;
  /** The first revision that held what is needed. */
  readonly sinceRevision: number;
  /** What the shard is now. */
  readonly current: { readonly revision: number; readonly sha256: string };
}

/** One resource that is published. */
export interface Rolled {
  /** `<Kind>/<namespace>/<name>` */
  readonly key: string;
  readonly generation: number;
  readonly needs: readonly Need[];
  /** When its present form was published, or first seen so, monotonic milliseconds. */
  readonly publishedAtMs: number;
  /**
   * Whether its status says already that every ready pod obeys this form. It stays so until a pod reports otherwise.
   */
  readonly isProgrammed: boolean;
}

/** What the ready pods make of one resource. `untilMs`: look again then, whatever the pods say. */
export type Rollout =
  | { readonly kind: "programmed"; readonly untilMs?: number }
  /** Some are behind, and it would be early to call that a fault. */
  | { readonly kind: "waiting"; readonly untilMs: number }
  /** Some are behind; who they are, for people. */
  | { readonly kind: "lagging"; readonly pods: string }
  | { readonly kind: "failed"; readonly pod: string; readonly reason: string; readonly message: string }
  | { readonly kind: "noPods" };

export interface RolloutTimes {
  /** So long after a change nothing is a fault yet, in milliseconds. */
  readonly graceMs: number;
  /** So long without any pod a resource that was in force still counts as such, in milliseconds. */
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
 * Whether every ready pod obeys a resource: runs, for each shard it needs, a revision that held it, without an error
 * for it. A pod's silence proves nothing about what was in force there before; what it reports does.
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

/** Why a pod does not obey the resource, as far as anybody knows. */
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
 * A pod that runs what is current obeys it. An earlier revision counts when it held what is needed; one that is no
 * earlier than the current and yet another belongs to a numbering that ended when the Secret was deleted.
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

/** A pod says one thing of each kind about a partner. */
export function markKey({ uid, reason }: Pick<ConfigzMark, "uid" | "reason">): string {
  return reason === "PartnerDisabled" ? uid : consentKey(uid);
}

function consentKey(uid: string): string {
  return `${uid} consent`;
}

/** What the endpoint of this generation answered last when it was asked for its consent, over all pods. */
export function consentBy(pods: Pods, uid: string, generation: number): ConfigzMark | undefined {
  const marks = pods.list
    .flatMap(({ report }) => report?.marks.get(consentKey(uid)) ?? [])
    .filter((mark) => mark.generation === generation);
  return marks.toSorted((one, other) => byText(one.since, other.since)).at(-1);
}

/** Why the data plane stopped sending to a partner, as any pod says of this generation. */
export function disabledBy(pods: Pods, uid: string, generation: number): string | undefined {
  for (const { report } of pods.list) {
    const mark = report?.marks.get(uid);
    if (mark?.generation === generation) return mark.message;
  }
  return undefined;
}
