/** A moment as Leases and Events want it: RFC 3339 with six decimals, which a plain `Date` does not write. */
export function microTime(unixMs: number): string {
  return new Date(unixMs).toISOString().replace("Z", "000Z");
}
