import { UsageError, type Given } from "./given.ts";

/** The value of a flag that takes one of a few words. @throws UsageError */
export function oneOf<Word extends string>(given: Given, flag: string, words: readonly Word[]): Word {
  const value = given.text(flag);
  const word = words.find((one) => one === value);
  if (word !== undefined) return word;
  throw new UsageError(`--${flag} is one of ${words.join(", ")}, not ${value}.`);
}
