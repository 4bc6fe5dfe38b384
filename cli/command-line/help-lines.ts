import type { ExitRow } from "./end-process.ts";
import { usageOf, variableOf, type Flag } from "./flag.ts";

type Row = readonly [left: string, right: string];

/** Lines of two aligned columns. */
export function columns(rows: readonly Row[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

/** The section of flags. @param more rows after the flags */
export function flagLines(flags: readonly Flag[], more: readonly Row[]): readonly string[] {
  const rows = flags.map((flag): Row => [flag.isSecret === true ? variableOf(flag) : usageOf(flag), describe(flag)]);
  return ["Flags (each is also an environment variable; the flag wins):", ...columns([...rows, ...more])];
}

/** The section of exit codes. */
export function exitCodeLines(exitCodes: Readonly<Record<string, ExitRow>>): readonly string[] {
  return ["Exit codes:", ...columns(Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]))];
}

function describe(flag: Flag): string {
  const notes = [
    ...(flag.required === true ? ["required"] : []),
    ...(flag.multiple === true ? ["may be repeated"] : []),
    ...(flag.standard === undefined ? [] : [`default ${flag.standard}`]),
    flag.isSecret === true ? "only in the environment" : variableOf(flag),
  ];
  return `${flag.help} [${notes.join(", ")}]`;
}
