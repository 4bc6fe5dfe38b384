import type { SupportTask } from "./support-person.ts";

/** Questions about partners and their keys. */
export const partnerTasks: readonly SupportTask[] = [];
