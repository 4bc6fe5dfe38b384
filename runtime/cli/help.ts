import { commandRow, commands, type CommandName } from "./commands.ts";
import { exitCodes } from "./exit-codes.ts";
import { variableOf, type Flag } from "./flags.ts";

/** Help of the program as a whole. */
export function programHelp(): string {
  const names = Object.keys(commands) as CommandName[];
  return [
    "Usage: heliograph COMMAND [OPERAND] [FLAGS]",
    "",
    "Signed webhooks and one governed read API for metrics.",
    "",
    "Commands:",
    ...columns(names.map((name) => [usageOf(name), commandRow(name).summary])),
    "",
    "`heliograph COMMAND --help` lists the flags of a command; `heliograph --version` prints the version.",
    "",
    "Exit codes:",
    ...columns(Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning])),
    "",
  ].join("\n");
}

/** Help of one command. */
export function commandHelp(name: CommandName): string {
  const { summary, flags } = commandRow(name);
  const rows = flags.map((flag): readonly [string, string] => [`--${flag.name} ${flag.value}`, describe(flag)]);
  return [
    `Usage: heliograph ${usageOf(name)} [FLAGS]`,
    "",
    summary,
    "",
    "Flags (each is also an environment variable; the flag wins):",
    ...columns([...rows, ["--help", "Prints this help."]]),
    "",
  ].join("\n");
}

function usageOf(name: CommandName): string {
  const { operand } = commandRow(name);
  return operand === undefined ? name : `${name} ${operand}`;
}

function describe(flag: Flag): string {
  const notes = [
    ...(flag.required === true ? ["required"] : []),
    ...(flag.multiple === true ? ["may be repeated"] : []),
    ...(flag.standard === undefined ? [] : [`default ${flag.standard}`]),
    variableOf(flag),
  ];
  return `${flag.help} [${notes.join(", ")}]`;
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
