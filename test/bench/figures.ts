/** The value that a share of all values does not exceed; NaN without any. */
export function quantile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(rank * sorted.length))] ?? Number.NaN;
}

/** One line of a bench: what was found and what it must be. */
export function showBar(what: string, found: number, most: number, unit = ""): void {
  const result = found <= most ? "holds" : "DOES NOT HOLD";
  console.log(`  ${what}: ${found.toFixed(2)}${unit}, at most ${most}${unit}: ${result}`);
}

/** Median and 95th percentile in words. */
export function spread(values: readonly number[]): string {
  return `p50 ${quantile(values, 0.5).toFixed(1)} ms, p95 ${quantile(values, 0.95).toFixed(1)} ms`;
}

/** How long work takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** The same, with the processor time that this process took meanwhile. */
export async function timedWithCpu(
  work: () => Promise<unknown>,
): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const before = process.cpuUsage();
  const ms = await timed(work);
  const { user, system } = process.cpuUsage(before);
  return { ms, cpuMs: (user + system) / 1_000 };
}
