import type { SupportTask } from "./support-person.ts";

/** Questions about metrics, objectives and edits. */
export const metricTasks: readonly SupportTask[] = [];
