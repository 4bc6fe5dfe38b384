import { expect, test } from "vitest";
import { parseAst } from "vitest/node";
import { keptFiles, textOf } from "./named-files.ts";
import { allowedUses, countByFile, phraseUses, totalOf } from "./phrases.ts";

/** Words that no identifier has: `word: the word of the field for the same thing`. */
const standardWords: ReadonlyMap<string, string> = new Map(
  `
    borrower: allocation client
    claimant: key holder
    coins: allocation
    doorkeeper: admission
    duties: maintenance jobs
    examiner: evaluation cache
    homes: lane ownership
    janitor: stream trim
    judgement: outcome
    ledger: bucket store
    loan: allocation request
    obey: apply
    obeyable: supported
    obeyed: applied
    obeys: applies
    purse: token source
    purses: shared buckets
    rescue: recover
    resumption: redelivery decision
    spender: quota client
    suspicion: redelivery check
    verdict: result
    verdicts: results
    wallet: allocated tokens
    wish: request cost
    wishes: request costs
    world: query context
  `
    .trim()
    .split("\n")
    .map((line): [string, string] => {
      const [word = "", standard = ""] = line.trim().split(": ");
      return [word, standard];
    }),
);

/** Words that a format or an API outside of the project has. */
const foreign: Readonly<Record<string, readonly string[]>> = {
  "runtime/http/openapi/event-schemas.ts": ["verdict"],
  "runtime/http/openapi/meanings/webhook-meanings.ts": ["verdict"],
  "runtime/recipient/receive.ts": ["verdict"],
  "runtime/recipient/verify-delivery.ts": ["verdict"],
  // The name of an alert, which routes and silences of users hold.
  "test/chart/alerts/cases.ts": ["obeyed"],
  "test/runtime/recipient/verify-delivery.test.ts": ["verdict"],
};

const files = keptFiles.filter((path) =>
  /^(?:cli|console|crds|demo|kube|operator|runtime|test)\/.*\.tsx?$/u.test(path),
);

/** Names of all identifiers below a node of a syntax tree. */
function* namesIn(node: unknown): Iterable<string> {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node && String(node.type).endsWith("Identifier") && "name" in node) yield String(node.name);
  for (const child of Object.values(node)) yield* namesIn(child);
}

function wordsOf(name: string): readonly string[] {
  return name.split(/(?=[A-Z])|_/u).map((word) => word.toLowerCase());
}

/** Parsing takes most of the time, so only files that hold such a word anywhere are parsed. */
const anyWord = new RegExp([...standardWords.keys()].join("|"), "iu");

function faultsOf(file: string): readonly string[] {
  const text = textOf(file);
  if (!anyWord.test(text)) return [];
  const names = [...new Set(namesIn(parseAst(text, { lang: file.endsWith(".tsx") ? "tsx" : "ts" })))];
  return names.flatMap((name) =>
    wordsOf(name)
      .filter((word) => standardWords.has(word) && !(foreign[file] ?? []).includes(word))
      .map((word) => `${file}: ${name}: say "${standardWords.get(word)}"`),
  );
}

test("identifiers have the words of the field", () => {
  expect(files.length).toBeGreaterThan(500);
  expect(files.flatMap(faultsOf)).toEqual([]);
});

test("pages, messages and names have no more phrases to replace than before", () => {
  const [uses, allowed] = [phraseUses(), allowedUses()];
  const counts = countByFile(uses);
  // A file that moved or was merged brings its uses along, so the sum decides.
  const isWithin = totalOf(counts) <= totalOf(allowed);
  const added = uses.filter(({ file }) => (counts.get(file) ?? 0) > (allowed.get(file) ?? 0));
  expect(isWithin ? [] : added.map(({ file, phrase, instead }) => `${file}: "${phrase}": write ${instead}`)).toEqual(
    [],
  );
});
