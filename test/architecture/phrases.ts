import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAst } from "vitest/node";
import { schemas } from "../../api/schemas.ts";
import { keptFiles, textOf } from "./named-files.ts";

/** Phrases of text that people read, as patterns, each with the words to write instead. */
const phrases: readonly (readonly [pattern: string, instead: string])[] = [
  [String.raw`answer(?:s|ed|ing)?`, "response, respond, return"],
  [String.raw`(?<!connections? (?:is |was |were )?)refus(?:e|es|ed|al|als|ing)`, "reject, rejected"],
  [String.raw`ask(?:s|ed|ing)? for`, "request, require, query"],
  [String.raw`questions?`, "request, query"],
  [String.raw`look-ups?`, "metadata, label values, lookups"],
  [String.raw`lea(?:f|ves) quer(?:y|ies)`, "selector"],
  [String.raw`own lanes?`, "dedicated lane"],
  [String.raw`stand-ins?`, "last known good"],
  [String.raw`stands? in for`, "replaces"],
  [String.raw`mend(?:s|ed|ing)?`, "fix"],
  [String.raw`beside`, "alongside, next to, with"],
  [String.raw`of (?:its|their|your|his|our) own`, "dedicated, separate"],
  [String.raw`by (?:itself|themselves)`, "automatically, or nothing"],
  [String.raw`at all`, "nothing: delete it"],
  [String.raw`the whole of`, "all, entire"],
  [String.raw`one of those`, "one"],
  [String.raw`but for`, "except, unless"],
  [String.raw`(?:is|are|was|were|goes|went) away`, "is unavailable, is deleted"],
  [String.raw`back again`, "restored"],
  [String.raw`for a moment`, "temporarily"],
  [String.raw`(?<!re)in turn`, "sequentially, in order"],
  [String.raw`one after another`, "sequentially, in order"],
  [String.raw`at its place`, "from its cursor"],
  [String.raw`go(?:es)? on`, "continue"],
  [String.raw`the kit`, "the recipient SDK"],
];

/** Words of identifiers, each with the word of the field for the same thing. */
const words: ReadonlyMap<string, string> = new Map(
  Object.entries({
    answer: "response",
    answered: "responded",
    answers: "responses",
    asked: "requested",
    beside: "with",
    doors: "audiences",
    house: "layout",
    leaf: "selector",
    leaves: "selectors",
    mend: "fix",
    mended: "fixed",
    question: "request",
    questions: "requests",
    refusal: "error",
    refusals: "errors",
    refuse: "reject",
    refused: "rejected",
    rooms: "modules",
    unanswered: "noResponders",
  }),
);

/** One use of a phrase or word that has a better one. */
export interface PhraseUse {
  readonly file: string;
  /** What stands there, in lower case. */
  readonly phrase: string;
  readonly instead: string;
}

const anyPhrase = new RegExp(String.raw`\b(?:${phrases.map(([pattern]) => pattern).join("|")})\b`, "giu");
const anyWord = new RegExp([...words.keys()].join("|"), "iu");
const insteadOf = phrases.map(([pattern, instead]) => ({ pattern: new RegExp(`^(?:${pattern})$`, "iu"), instead }));

/** Pages and descriptions that people read, apart from records of the past. */
const pages = keptFiles.filter(
  (path) =>
    (path.endsWith(".md") && !/^(?:docs\/decisions\/|node_modules\/|test\/)/u.test(path)) ||
    /^(?:crds\/[\w-]+\.yaml|charts\/heliograph\/values\.yaml|runtime\/http\/openapi\/changelog\.json)$/u.test(path),
);
/** Programs of the product. */
const sources = keptFiles.filter((path) => /^(?!test\/|docs\/|charts\/|crds\/types\/)[\w-]+\/.*\.tsx?$/u.test(path));

/** Every use, in pages, in strings of the product that are sentences or labels, and in identifiers of the product. */
export function phraseUses(): readonly PhraseUse[] {
  return [
    ...pages.flatMap((file) => usesIn(file, readableText(textOf(file)))),
    ...sources.flatMap((file) => usesOfSource(file)),
  ];
}

/** A page without what programs read: blocks and spans of code, and targets of links. */
function readableText(text: string): string {
  return text
    .replaceAll(/^ *```[\s\S]*?^ *```$/gmu, "")
    .replaceAll(/`[^`\n]*`/gu, "")
    .replaceAll(/\]\([^)]*\)/gu, "]")
    .replaceAll(/\s+/gu, " ");
}

function usesIn(file: string, text: string): readonly PhraseUse[] {
  return (text.match(anyPhrase) ?? []).map((match) => {
    const phrase = match.toLowerCase().replaceAll(/\s+/gu, " ");
    return { file, phrase, instead: insteadOf.find(({ pattern }) => pattern.test(phrase))?.instead ?? "" };
  });
}

function usesOfSource(file: string): readonly PhraseUse[] {
  const text = textOf(file);
  anyPhrase.lastIndex = 0;
  if (!anyWord.test(text) && !anyPhrase.test(text)) return [];
  const names = new Set<string>();
  const strings: string[] = [];
  collect(parseAst(text, { lang: file.endsWith(".tsx") ? "tsx" : "ts" }), names, strings);
  // Names of schemas are those of the served document, and of clients that are generated from it.
  const ofNames = [...names]
    .filter((name) => !Object.hasOwn(schemas, name))
    .flatMap((name) =>
      wordsOf(name).flatMap((word) => {
        const instead = words.get(word);
        return instead === undefined ? [] : [{ file, phrase: `${word} (${name})`, instead }];
      }),
    );
  return [...ofNames, ...strings.filter((string) => string.includes(" ")).flatMap((string) => usesIn(file, string))];
}

/** Collects the names of identifiers and the texts of strings below a node. */
function collect(node: unknown, names: Set<string>, strings: string[]): void {
  if (typeof node !== "object" || node === null) return;
  const { type, name, value } = node as { type?: unknown; name?: unknown; value?: unknown };
  if (typeof name === "string" && String(type).endsWith("Identifier")) names.add(name);
  const text = type === "TemplateElement" ? (value as { readonly cooked?: unknown }).cooked : value;
  if (/^(?:Literal|JSXText|TemplateElement)$/u.test(String(type)) && typeof text === "string") strings.push(text);
  for (const child of Object.values(node)) collect(child, names, strings);
}

function wordsOf(name: string): readonly string[] {
  return name.split(/(?=[A-Z])|_/u).map((word) => word.toLowerCase());
}

const allowedPath = "test/architecture/phrases.allowed.json";

/** The uses that are still allowed in each file. */
export function allowedUses(): ReadonlyMap<string, number> {
  return new Map(Object.entries(JSON.parse(textOf(allowedPath)) as Record<string, number>));
}

export const totalOf = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

export function countByFile(uses: readonly PhraseUse[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { file } of uses) counts.set(file, (counts.get(file) ?? 0) + 1);
  return counts;
}

if (import.meta.main) {
  const counts = countByFile(phraseUses());
  if (totalOf(counts) > totalOf(allowedUses())) throw new Error("The list only shrinks: rewrite the new uses.");
  const sorted = Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(
    fileURLToPath(new URL(`../../${allowedPath}`, import.meta.url)),
    `${JSON.stringify(sorted, null, 2)}\n`,
  );
}
