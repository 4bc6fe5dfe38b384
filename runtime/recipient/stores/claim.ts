// Once-only stores on databases of the recipient: the caller brings the client. The runtime does not use them.
import type { Effect, OnceResult, SeenRecord } from "../seen-store.ts";

/** What the effect gets from a store without transactions. */
export interface Claim {
  /**
   * Grows with each claim of an event. An effect that keeps the highest number it met can reject a process that was
   * slow and lost its claim to another.
   */
  readonly fencingToken: number;
}

/** How a store claims an event and settles the claim. */
export interface Claims {
  readonly claim: () => Promise<Claim | Exclude<OnceResult, "processed">>;
  /** Replaces the claim by a record. False when the claim is no longer there. */
  readonly settle: (claim: Claim, record: SeenRecord) => Promise<boolean>;
}

/** Options of stores without transactions. */
export interface ClaimOptions {
  /**
   * Seconds for which a claim holds. An effect must take less: afterwards another copy may run it too. An event whose
   * process was killed waits that long. @default 60
   */
  readonly leaseSeconds?: number;
}

const leaseSecondsDefault = 60;
const leaseSecondsMax = 3_600;

/** @throws RangeError when the time is not between a second and an hour */
export function readLeaseSeconds({ leaseSeconds = leaseSecondsDefault }: ClaimOptions): number {
  if (!(leaseSeconds >= 1 && leaseSeconds <= leaseSecondsMax))
    throw new RangeError(`leaseSeconds is ${leaseSeconds}; give 1 to ${leaseSecondsMax} seconds`);
  return leaseSeconds;
}

/** The effect took longer than its claim held, so that another copy may have run it too. */
export class ClaimLostError extends Error {
  override readonly name = "ClaimLostError";
}

/** Claims, runs the effect, marks. A process that ends between effect and mark leaves a claim that expires. */
export async function onceByClaim(
  key: string,
  handlerVersion: string,
  effect: Effect<Claim>,
  { claim, settle }: Claims,
): Promise<OnceResult> {
  const claimed = await claim();
  if (typeof claimed === "string") return claimed;
  const record = (status: SeenRecord["status"]): SeenRecord => ({ status, processedAtMs: Date.now(), handlerVersion });
  let outcome: string | void;
  try {
    outcome = await effect(claimed);
  } catch (error) {
    // The record of a failure is information only: without it, the claim expires.
    await settle(claimed, record("error")).catch(() => undefined);
    throw error;
  }
  const isSettled = await settle(claimed, { ...record("ok"), ...(typeof outcome === "string" ? { outcome } : {}) });
  if (isSettled) return "processed";
  throw new ClaimLostError(`The effect of ${key} took longer than its claim held; raise leaseSeconds`);
}
