import { parseArgs } from "node:util";

/** What a caller of the bench may choose. */
export interface Options {
  readonly parts: readonly string[];
  readonly rounds: number;
  /** Undefined: as each half wants. */
  readonly pods: number | undefined;
  readonly isSmall: boolean;
  readonly patienceSeconds: number;
  /** Where the result goes; undefined: `dist/bench.json`. */
  readonly json: string | undefined;
}

interface HalfNames {
  readonly name: string;
  readonly parts: readonly string[];
}

const usage = "[PART ...] [--rounds N] [--pods N] [--patience SECONDS] [--small] [--json FILE]";
const [roundsMax, podsMax, patienceSecondsMax] = [50, 64, 86_400];

/** @throws Error with the parts there are, for arguments that mean nothing */
export function readOptions(argv: readonly string[], halves: readonly HalfNames[]): Options {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      rounds: { type: "string" },
      pods: { type: "string" },
      patience: { type: "string", default: "300" },
      small: { type: "boolean", default: false },
      json: { type: "string" },
    },
  });
  const known = halves.flatMap(({ name, parts }) => [name, ...parts]);
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    const lines = halves.map(({ name, parts }) => `  ${name}: ${parts.join(", ")}`);
    throw new Error(
      `no part ${unknown.join(", ")}; give some of these, or none for all, in ${usage}\n${lines.join("\n")}`,
    );
  }
  const isChosen = (half: string, part: string): boolean =>
    positionals.length === 0 || positionals.includes(half) || positionals.includes(part);
  return {
    parts: halves.flatMap(({ name, parts }) => parts.filter((part) => isChosen(name, part))),
    rounds: whole("rounds", values.rounds ?? (values.small ? "1" : "5"), roundsMax),
    pods: values.pods === undefined ? undefined : whole("pods", values.pods, podsMax),
    patienceSeconds: whole("patience", values.patience, patienceSecondsMax, 0),
    isSmall: values.small,
    json: values.json,
  };
}

function whole(name: string, text: string, most: number, least = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Error(`--${name} is a whole number from ${least} to ${most}, not ${text}`);
}
