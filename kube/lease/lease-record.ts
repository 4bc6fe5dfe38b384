import { microTime } from "../micro-time.ts";
import type { KubeObject, ResourceType } from "../client/resource.ts";

/** `coordination.k8s.io/v1` Lease. Source: Kubernetes API reference, Lease v1 coordination. */
export const leaseType: ResourceType = { group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases" };

interface LeaseSpec {
  /** Who leads; empty or absent when nobody does. */
  readonly holderIdentity?: string;
  /** The holder stops to lead well before so long has passed since it last wrote. */
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** How often the lead changed hands. */
  readonly leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

/** When we saw a lease change, by our own clock. */
export interface Observation {
  /** What the holder wrote. */
  readonly written: string;
  /** Monotonic milliseconds at which we first saw it so. */
  readonly atMs: number;
}

/** A holder that promises more is not believed. */
const leaseSecondsMax = 3_600;

/**
 * Whether the holder is alive shows only in its writing: edits of labels or annotations by others say nothing of it.
 */
export function observe(before: Observation | undefined, { spec = {} }: Lease, nowMs: number): Observation {
  const written = JSON.stringify([spec.holderIdentity, spec.acquireTime, spec.renewTime, spec.leaseTransitions]);
  return before?.written === written ? before : { written, atMs: nowMs };
}

/**
 * Whether we may write ourselves into the lease: it is free, or ours, or its holder has not written for as long as it
 * promised, by our clock since we last saw it change. The times in the lease come from other clocks and decide nothing.
 *
 * @param ownMs for how long a lease without a stated duration is believed
 */
export function mayTake({ spec = {} }: Lease, self: string, seen: Observation, nowMs: number, ownMs: number): boolean {
  const { holderIdentity = "", leaseDurationSeconds = 0 } = spec;
  if (holderIdentity === "" || holderIdentity === self) return true;
  const promisedMs = leaseDurationSeconds > 0 ? Math.min(leaseDurationSeconds, leaseSecondsMax) * 1000 : ownMs;
  return nowMs - seen.atMs >= promisedMs;
}

/** What we write to take or to renew a lease. */
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

/** What we write so that nobody has to wait for the lease to run out. */
export function released(before: LeaseSpec, wallMs: number): LeaseSpec {
  return { ...before, holderIdentity: "", leaseDurationSeconds: 1, renewTime: microTime(wallMs) };
}
