import { createInterface } from "node:readline/promises";
import { plain } from "../command-line/plain.ts";

/** Meaning of a colour. */
export type Tone = "good" | "bad" | "waiting";

/** Numbers of ANSI's foreground colours. Source: ECMA-48 §8.3.117. */
const colours: Readonly<Record<Tone, number>> = { good: 32, bad: 31, waiting: 33 };

export function paint(text: string, tone: Tone | undefined): string {
  return tone === undefined ? text : `\u001B[${colours[tone]}m${text}\u001B[0m`;
}

/** A note for people, beside the result. */
export function say(note: string): void {
  process.stderr.write(`${plain(note)}\n`);
}

/** One line on the standard error that is written anew. It is silent where that is no terminal. */
export interface Progress {
  show(text: string): void;
  /** Removes the line. */
  clear(): void;
}

type Stream = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

export function createProgress(stream: Stream = process.stderr): Progress {
  if (!stream.isTTY) return { show: () => undefined, clear: () => undefined };
  const clear = (): void => void stream.write("\r\u001B[2K");
  return {
    show: (text) => {
      clear();
      stream.write(plain(text).slice(0, (stream.columns || 80) - 1));
    },
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
export async function confirm(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/iu.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
