import type { PageEntry } from "../page-entry.ts";

/** Explorer, objectives, quotas and previews, in the order of the navigation. */
export const metricPages: readonly PageEntry[] = [];
