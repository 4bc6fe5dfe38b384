import type { PageAction } from "./console-visitor.ts";

/** What readers do on the pages of metrics, objectives, quotas and previews. */
export const metricActions: readonly PageAction[] = [];
