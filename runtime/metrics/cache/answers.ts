import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { MetricsAnswer } from "../metrics-api.ts";
import type { Lifetimes } from "./pieces.ts";

/** All answers that are kept at once, by what they are told to take. */
const keptBytesMax = 64 * 1024 * 1024;

/** A whole answer of the last seconds. */
export interface KeptAnswer {
  readonly answer: MetricsAnswer;
  /** Unix milliseconds at which it was made. */
  readonly madeAtMs: number;
  /** Whether no point of it changes any more in its stores. */
  readonly isSettled: boolean;
  /** Memory that it takes, roughly. */
  readonly bytes: number;
}

/** Whole answers by the digest of everything that they depend on; the one unused for longest makes way. */
export interface Answers {
  /** The answer of this name, if it is no older than this caller's class allows. */
  find(key: string, lifetimes: Lifetimes, nowMs: number): KeptAnswer | undefined;
  keep(key: string, kept: KeptAnswer): void;
}

/** For how long an answer is served. */
export function lifetimeMsOf({ isSettled }: Pick<KeptAnswer, "isSettled">, { settledMs, tailMs }: Lifetimes): number {
  return isSettled ? settledMs : tailMs;
}

/** None yet. */
export function createAnswers(bytesMax: number = keptBytesMax): Answers {
  const kept = new BoundedMap<string, KeptAnswer>(bytesMax, ({ bytes }) => bytes);
  return {
    find(key, lifetimes, nowMs) {
      const found = kept.get(key);
      if (found === undefined || nowMs - found.madeAtMs >= lifetimeMsOf(found, lifetimes)) return undefined;
      return kept.use(key);
    },
    keep: (key, own) => kept.set(key, own),
  };
}
