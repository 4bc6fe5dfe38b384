import { laneLeaseMs, type LeaseClock } from "../../nats/connection/lease-clock.ts";
import type { StreamClock } from "../../nats/connection/stream-clock.ts";
import type { Bucket, BucketEntry } from "../../nats/streams/buckets.ts";

/**
 * Value of a heartbeat: the pod recovers attempts that were made straight from events, and leaves half of the places
 * to them in a take-over. Earlier versions send another value or none, so no pod makes such attempts beside them.
 */
export const beatValue = "direct-half";
/** Header of a heartbeat: age in milliseconds at which its pod counts as gone. */
const leaseHeader = "Lease-Ms";
/** Pods of earlier versions use their leases longer, and send no such header. */
export const earlierLeaseMs = 2_000;

interface BeatDeps {
  readonly bucket: Bucket;
  readonly clock: StreamClock;
  readonly leases: LeaseClock;
}

interface Beat {
  readonly entries: readonly BucketEntry[];
  /** By the lease clock. */
  readonly sentMs: number;
  readonly storedAtMs: number;
}

/** Stores the heartbeat of this pod and reads those of all pods. Its own, read back, gives the time of JetStream. */
export async function sendBeat({ bucket, clock, leases }: BeatDeps, key: string): Promise<Beat> {
  const sentMs = leases.nowMs();
  const sentAtMs = clock.localMs();
  const revision = await bucket.put(key, beatValue, { [leaseHeader]: String(laneLeaseMs) });
  const answeredAtMs = clock.localMs();
  const entries = await bucket.list();
  // A replica that lags behind returns an earlier heartbeat.
  const own = entries.find((entry) => entry.key === key && entry.revision === revision);
  if (own !== undefined) {
    clock.observe({ sentAtMs, storedAtMs: own.storedAtMs, answeredAtMs });
  }
  return { entries, sentMs, storedAtMs: own?.storedAtMs ?? clock.now() };
}

type Heartbeat = Pick<BucketEntry, "key" | "storedAtMs" | "headers">;

/** Sorted keys of the pods whose last heartbeat is recent, and of this pod. */
export function livePods(entries: readonly Heartbeat[], own: string, nowMs: number): readonly string[] {
  const recent = entries.filter((entry) => leftMs(entry, nowMs) > 0).map(({ key }) => key);
  return [...new Set([...recent, own])].sort();
}

/** Milliseconds until the first other live pod counts as gone. */
export function untilGoneMs(entries: readonly Heartbeat[], own: string, nowMs: number): number {
  const left = entries.filter(({ key }) => key !== own).map((entry) => leftMs(entry, nowMs));
  return Math.min(...left.filter((ms) => ms > 0));
}

/** Milliseconds until the pod of a heartbeat counts as gone; 0 or less when it does. */
function leftMs({ storedAtMs, headers }: Heartbeat, nowMs: number): number {
  return storedAtMs + (Number(headers?.[leaseHeader]) || earlierLeaseMs) - nowMs;
}
