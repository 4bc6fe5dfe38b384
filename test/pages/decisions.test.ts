import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { keptFiles, textOf } from "../architecture/named-files.ts";

const index = "docs/decisions/README.md";
const records = keptFiles.filter((path) => /^docs\/decisions\/(?:archive\/)?\d{4}-[^/]+\.md$/u.test(path));
const example = "Status: accepted, 2026-11-26";

/** A `Supersedes:` or `Superseded by:` line: the record that it links to. */
type Direction = "Supersedes" | "Superseded by";

const numberOf = (path: string): string => /(?<number>\d{4})-[^/]+$/u.exec(path)?.groups?.["number"] ?? "";

/** The records that the lines of a direction link to, by their path from the root. */
function linkedBy(record: string, direction: Direction): readonly string[] {
  const lines = textOf(record).matchAll(new RegExp(`^${direction}: \\[\\d{4}\\]\\((?<target>[^)]+)\\)`, "gmu"));
  return [...lines].map(({ groups }) => join(dirname(record), groups?.["target"] ?? ""));
}

function statusOf(record: string): { readonly status: string; readonly date: string } | undefined {
  const match =
    /^# .+\n\nStatus: (?<status>accepted|superseded in part|superseded), (?<date>\d{4}-\d{2}-\d{2})\n/u.exec(
      textOf(record),
    );
  return match?.groups as { readonly status: string; readonly date: string } | undefined;
}

/** What a record lacks, each as an instruction. */
function faultsOf(record: string): readonly string[] {
  const title = /^# (?<title>.+)/u.exec(textOf(record))?.groups?.["title"] ?? "";
  const found = statusOf(record);
  if (!title.startsWith(`${numberOf(record)}: `)) return [`${record}: begin with "# ${numberOf(record)}: Title"`];
  if (found === undefined) return [`${record}: write "${example}" as the paragraph below the title`];
  const successors = linkedBy(record, "Superseded by");
  const isSuperseded = found.status !== "accepted";
  return [
    ...(isSuperseded === successors.length > 0
      ? []
      : [`${record}: a status of "superseded" and a line "Superseded by: [NNNN](…)" need each other`]),
    ...oneWay(record, "Supersedes", "Superseded by"),
    ...oneWay(record, "Superseded by", "Supersedes"),
    ...proseLinks(record),
    ...indexFaults(record, title, found),
  ];
}

function oneWay(record: string, direction: Direction, back: Direction): readonly string[] {
  return linkedBy(record, direction)
    .filter((other) => !records.includes(other) || !linkedBy(other, back).includes(record))
    .map((other) => `${other}: write "${back}: [${numberOf(record)}](…)", because ${record} has "${direction}:"`);
}

/** A sentence that supersedes something, in a record without such a line: no record would link back. */
function proseLinks(record: string): readonly string[] {
  const isProse = /(?:Supersedes|Superseded by|Amends|amends) \[|(?:supersedes|amends)(?: decision)? \d{4}/u;
  const links = [...linkedBy(record, "Supersedes"), ...linkedBy(record, "Superseded by")];
  return links.length === 0 && isProse.test(textOf(record))
    ? [`${record}: write "Supersedes: [NNNN](…) for …" as a paragraph below the status, not in a sentence`]
    : [];
}

function indexFaults(record: string, title: string, { status, date }: { status: string; date: string }): string[] {
  const row = `| [${title}](${record.replace("docs/decisions/", "")}) | ${status} | ${date} |`;
  const rows = textOf(index).split("\n");
  return rows.filter((line) => line === row).length === 1 ? [] : [`${index}: add the row ${row}`];
}

describe("the records of decisions", () => {
  test("have a status, links both ways and a row in the index", () => {
    expect(records.length).toBeGreaterThan(170);
    expect(records.flatMap(faultsOf)).toEqual([]);
  });

  test("have a number each", () => {
    const numbers = records.map(numberOf);
    expect(numbers.filter((number, place) => numbers.indexOf(number) !== place)).toEqual([]);
  });

  test("are all in the index, which has no other rows", () => {
    const rows = textOf(index).match(/^\| \[\d{4}.*$/gmu) ?? [];
    expect(rows).toHaveLength(records.length);
  });
});
