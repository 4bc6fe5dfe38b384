import { windowSecondsDefault } from "../request/window.ts";

/**
 * The request tokens of one query: one, and one more for each doubling of its window beyond the default window. A burst
 * thus allows a wide window, up to the widest of the class. Source: seed "Operational Metrics API" §8, "Burst tokens
 * allow wider windows".
 */
export function requestTokens(windowSeconds: number): number {
  return 1 + Math.max(0, Math.ceil(Math.log2(windowSeconds / windowSecondsDefault)));
}
