// The pages besides Home, one file each. Parts that several of them use are elsewhere.
import type { PageEntry } from "../page-entry.ts";

/** Partners, events, dead letters and replays, in the order of the navigation. */
export const webhookPages: readonly PageEntry[] = [];
