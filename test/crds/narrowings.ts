import { isDeepStrictEqual } from "node:util";
import type { Schema } from "../tools/definition-schema.ts";

/** Bounds by whether a larger number accepts more. */
const bounds = {
  minLength: false,
  minimum: false,
  minItems: false,
  maxLength: true,
  maximum: true,
  maxItems: true,
  maxProperties: true,
} as const;

/** Members whose every change can refuse an object that was valid, or change what it means. */
const fixed = ["type", "format", "pattern", "default", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"] as const;

/**
 * What a later schema refuses, changes or removes of what an earlier one accepts, one sentence each. A new field must
 * be optional and have no default: programs of the earlier release do not know it, and see it in every object
 * otherwise.
 */
export function narrowings(earlier: Schema, later: Schema, place: string): readonly string[] {
  return [
    ...fixed
      .filter((name) => !isDeepStrictEqual(earlier[name], later[name]))
      .map((name) => `${place} has another ${name}`),
    ...boundsNarrowed(earlier, later).map((name) => `${place} has a narrower ${name}`),
    ...wordsGone(earlier, later).map((word) => `${place} no longer takes ${word}`),
    ...missing(later.required, earlier.required).map((name) => `${place} now requires ${name}`),
    ...newRules(earlier, later).map((message) => `${place} has a new rule: ${message}`),
    ...properties(earlier, later, place),
    ...below(earlier.items, later.items, `${place}[]`),
    ...below(earlier.additionalProperties, later.additionalProperties, `${place}{}`),
  ];
}

function boundsNarrowed(earlier: Schema, later: Schema): readonly string[] {
  return Object.entries(bounds).flatMap(([bound, isWiderWhenLarger]) => {
    const name = bound as keyof typeof bounds;
    const [was, is] = [earlier[name], later[name]];
    if (is === undefined || was === is) return [];
    const isWider = was !== undefined && (isWiderWhenLarger ? is > was : is < was);
    return isWider ? [] : [name];
  });
}

/** Words that the later schema does not take; `other words` where the earlier one had no list. */
function wordsGone(earlier: Schema, later: Schema): readonly string[] {
  if (later.enum === undefined) return [];
  return earlier.enum === undefined ? ["other words"] : missing(earlier.enum, later.enum);
}

function newRules(earlier: Schema, later: Schema): readonly string[] {
  const rules = (schema: Schema) => schema["x-kubernetes-validations"] ?? [];
  const known = rules(earlier).map(({ rule }) => rule);
  return rules(later)
    .filter(({ rule }) => !known.includes(rule))
    .map(({ message }) => message);
}

function properties(earlier: Schema, later: Schema, place: string): readonly string[] {
  const [was, is] = [earlier.properties ?? {}, later.properties ?? {}];
  const added = Object.entries(is).filter(([name]) => !(name in was));
  return [
    ...added
      .filter(([, schema]) => schema.default !== undefined)
      .map(([name]) => `${place}.${name} is new and has a default`),
    ...Object.entries(was).flatMap(([name, schema]) => below(schema, is[name], `${place}.${name}`)),
  ];
}

function below(earlier: Schema | undefined, later: Schema | undefined, place: string): readonly string[] {
  if (earlier === undefined) return [];
  return later === undefined ? [`${place} is gone`] : narrowings(earlier, later, place);
}

/** Words of the first list that are not in the second. */
function missing(words: readonly string[] = [], among: readonly string[] = []): readonly string[] {
  return words.filter((word) => !among.includes(word));
}
