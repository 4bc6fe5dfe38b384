import type { PageAction } from "./console-visitor.ts";

/** What readers do on the pages of partners, events, dead letters and replays. */
export const webhookActions: readonly PageAction[] = [];
