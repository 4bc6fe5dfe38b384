/** Milliseconds of the machine's monotonic clock, which all processes share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
