import { createInterface } from "node:readline/promises";

const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Meaning of a colour. */
export type Tone = "good" | "bad" | "waiting";

/** Numbers of ANSI's foreground colours. Source: ECMA-48 §8.3.117. */
const colours: Readonly<Record<Tone, number>> = { good: 32, bad: 31, waiting: 33 };

/** One line on the standard error that is written anew. It is silent if that is not a terminal. */
export type Progress = ReturnType<typeof createProgress>;

/** Without characters that control a terminal. Texts of servers, files and arguments may hold them. */
export function plain(text: string): string {
  return text.replaceAll(controls, " ");
}

/**
 * JSON, or YAML whose strings with such characters are double-quoted, with escapes in their place. Line ends and tabs
 * between its values stay.
 */
export function escaped(text: string): string {
  return text.replaceAll(controls, (character) => (layout.has(character) ? character : escapesOf(character)));
}

const layout: ReadonlySet<string> = new Set(["\n", "\r", "\t"]);

/** One escape for each unit of UTF-16, as JSON requires. */
function escapesOf(character: string): string {
  return Array.from({ length: character.length }, (_, at) => character.charCodeAt(at).toString(16).padStart(4, "0"))
    .map((digits) => `\\u${digits}`)
    .join("");
}

/** True for a text with characters that control a terminal. */
export function hasControls(text: string): boolean {
  return text.search(controls) >= 0;
}

export function paint(text: string, tone: Tone | undefined): string {
  return tone === undefined ? text : `\u001B[${colours[tone]}m${text}\u001B[0m`;
}

/** A note for people, next to the result. */
export function say(note: string): void {
  process.stderr.write(`${plain(note)}\n`);
}

type Stream = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

export function createProgress(stream: Stream = process.stderr) {
  if (!stream.isTTY) return { show: () => undefined, clear: () => undefined };
  const clear = (): void => void stream.write("\r\u001B[2K");
  return {
    show: (text: string) => {
      clear();
      stream.write(plain(text).slice(0, (stream.columns || 80) - 1));
    },
    /** Removes the line. */
    clear,
  };
}

const barCharacters = 24;

/** `[=====>    ] 12 of 40` */
export function progressBar(done: number, all: number): string {
  const filled = all === 0 ? 0 : Math.min(barCharacters, Math.floor((done / all) * barCharacters));
  const head = filled < barCharacters ? ">" : "";
  return `[${`${"=".repeat(filled)}${head}`.slice(0, barCharacters).padEnd(barCharacters)}] ${done} of ${all}`;
}

/** True when a question can be asked. */
export function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks a question that only `y` or `yes` confirms. */
export async function confirm(prompt: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/iu.test((await lines.question(`${prompt} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}

/** One word for a POSIX shell. */
export function inShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
