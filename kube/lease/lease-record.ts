import { microTime } from "../micro-time.ts";
import type { KubeObject, ResourceType } from "../client/resource.ts";

/** `coordination.k8s.io/v1` Lease. Source: Kubernetes API reference, Lease v1 coordination. */
export const leaseType: ResourceType = { group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases" };

interface LeaseSpec {
  /** Identity of the leader; empty or absent without one. */
  readonly holderIdentity?: string;
  /** The holder's term ends well before this time after its last write. */
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** Number of changes of the leader. */
  readonly leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

/** The last observed change of a Lease, by the local clock. */
export interface Observation {
  /** The fields that the holder writes. */
  readonly written: string;
  /** Monotonic milliseconds of the first observation of these fields. */
  readonly atMs: number;
}

/** Longest duration that is accepted from a holder. */
const leaseSecondsMax = 3_600;

/**
 * Observes a Lease. Only fields that the holder writes count; others can edit labels and annotations.
 */
export function observe(before: Observation | undefined, { spec = {} }: Lease, nowMs: number): Observation {
  const written = JSON.stringify([spec.holderIdentity, spec.acquireTime, spec.renewTime, spec.leaseTransitions]);
  return before?.written === written ? before : { written, atMs: nowMs };
}

/**
 * Returns true when this process may take the Lease: it is free, its own, or its holder has not written for the
 * promised duration, by the local clock since the last observed change. The times in the Lease come from other clocks
 * and are ignored.
 *
 * @param ownMs duration of a Lease that states none
 */
export function mayTake({ spec = {} }: Lease, self: string, seen: Observation, nowMs: number, ownMs: number): boolean {
  const { holderIdentity = "", leaseDurationSeconds = 0 } = spec;
  if (holderIdentity === "" || holderIdentity === self) return true;
  const promisedMs = leaseDurationSeconds > 0 ? Math.min(leaseDurationSeconds, leaseSecondsMax) * 1000 : ownMs;
  return nowMs - seen.atMs >= promisedMs;
}

/** The spec that takes or renews a Lease. */
export function heldBy(self: string, before: LeaseSpec, leaseMs: number, wallMs: number): LeaseSpec {
  const renewTime = microTime(wallMs);
  const isRenewal = before.holderIdentity === self;
  const transitions = before.leaseTransitions ?? 0;
  return {
    ...before,
    holderIdentity: self,
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    acquireTime: isRenewal ? (before.acquireTime ?? renewTime) : renewTime,
    renewTime,
    leaseTransitions: isRenewal || before.holderIdentity === undefined ? transitions : transitions + 1,
  };
}

/** The spec that releases a Lease, so that another process can take it at once. */
export function released(before: LeaseSpec, wallMs: number): LeaseSpec {
  return { ...before, holderIdentity: "", leaseDurationSeconds: 1, renewTime: microTime(wallMs) };
}
