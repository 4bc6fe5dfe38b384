import { spawn } from "node:child_process";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { run } from "../tools/run.ts";

/**
 * What a parser reads in `event.data.values` of one text, one line per value: `integer` with its digits, `double` with
 * its bits, `text` with its UTF-8; `refused` alone when it does not take the text.
 */
export type ParsedValues = readonly string[];

/** Reads texts with the standard parser of its language, integers as exactly as it can. */
type JsonParser = (texts: readonly string[]) => Promise<readonly ParsedValues[]>;

const timeoutMs = 120_000;
const programNeeded = "python3";
const fileOf = (name: string): string => fileURLToPath(new URL(`json-parsers/${name}`, import.meta.url));

/** The parsers by their language. */
export const jsonParsers: Readonly<Record<string, JsonParser>> = {
  JavaScript: async (texts) => texts.map(readHere),
  Python: (texts) => ask(programNeeded, [fileOf("parse.py")], texts),
  Go: (texts) => ask("go", ["run", fileOf("parse.go")], texts),
};

/**
 * Why not every parser can run here; undefined when all can. Go is what the other servers of the tests are built with.
 */
export async function missingParser(): Promise<string | undefined> {
  const { code } = await run(programNeeded, ["--version"], { timeoutMs });
  return code === 0 ? undefined : `there is no ${programNeeded} on PATH`;
}

async function ask(
  command: string,
  args: readonly string[],
  texts: readonly string[],
): Promise<readonly ParsedValues[]> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], timeout: timeoutMs });
  const failed = new Promise<never>((_, reject) => child.on("error", reject));
  child.stdin.end(JSON.stringify(texts));
  const output = await Promise.race([buffer(child.stdout), failed]);
  return JSON.parse(output.toString()) as readonly ParsedValues[];
}

interface HistoryText {
  readonly event: { readonly data: { readonly values: readonly string[] } };
}

function readHere(text: string): ParsedValues {
  const reviver = (_: string, value: unknown, { source = "" }: { readonly source?: string }): unknown => {
    if (typeof value === "number") return numberLine(value, source);
    return typeof value === "string" ? `text ${Buffer.from(value).toString("hex")}` : value;
  };
  const parse = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => HistoryText;
  return parse(text, reviver).event.data.values;
}

/** The reviver sees the digits as they were written. */
function numberLine(value: number, source: string): string {
  if (/^-?\d+$/u.test(source)) return `integer ${BigInt(source)}`;
  const bits = Buffer.alloc(8);
  bits.writeDoubleBE(value);
  return `double ${bits.toString("hex")}`;
}
