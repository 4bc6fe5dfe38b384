import type { LeavesResult } from "../metrics/leaves/leaf.ts";

/** Warnings that name the regions without all of their data, and why. */
export function regionWarnings(regions: LeavesResult["regions"]): readonly string[] {
  return regions
    .filter(({ state }) => state !== "ok")
    .flatMap(({ region, state, reasons = [] }) => [
      `the data of the region ${region} are incomplete: ${state}`,
      ...reasons.map(({ detail }) => detail),
    ]);
}
