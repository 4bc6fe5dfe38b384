import { V1MicroTime } from "@kubernetes/client-node";

/** A moment as Leases and Events want it: RFC 3339 with six decimals, which a plain `Date` does not write. */
export function microTime(unixMs: number): string {
  return new V1MicroTime(unixMs).toISOString();
}
