import { windowSecondsDefault } from "../request/window.ts";

/**
 * Request tokens of one query: one, and one more for each doubling of its window beyond the default one. So the burst
 * that a client saves up pays for wide windows, and the widest window that a class allows still fits into one. Source:
 * seed "Operational Metrics API" §8, "Burst tokens allow wider windows".
 */
export function requestTokens(windowSeconds: number): number {
  return 1 + Math.max(0, Math.ceil(Math.log2(windowSeconds / windowSecondsDefault)));
}
