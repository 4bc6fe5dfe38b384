import type { SupportTask } from "./support-person.ts";

/** Questions about dead letters. */
export const deadLetterTasks: readonly SupportTask[] = [];
