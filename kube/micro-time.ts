/** Formats a time for Leases and Events: RFC 3339 with six decimals, which `Date` does not write. */
export function microTime(unixMs: number): string {
  return new Date(unixMs).toISOString().replace("Z", "000Z");
}
