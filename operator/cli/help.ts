import { exitCodes } from "./exit-codes.ts";
import { type Flag, flags, variableOf } from "./flags.ts";

/** Help of the program. */
export function programHelp(): string {
  const rows = flags.map((flag): readonly [string, string] => [usageOf(flag), describe(flag)]);
  return [
    "Usage: heliograph-operator [FLAGS]",
    "",
    "Compiles WebhookPartner, MetricCatalog and QueryClassQuota into the configuration that runtimes apply, and " +
      "writes the result to their",
    "status. Any number of replicas may run; one leads, the others are ready to.",
    "",
    "Flags (each is also an environment variable; the flag wins):",
    ...columns([...rows, ["--version", "Prints the version."], ["--help", "Prints this help."]]),
    "",
    "Exit codes:",
    ...columns(Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning])),
    "",
  ].join("\n");
}

/** `--shards N`, `--all-namespaces` */
export function usageOf({ name, value }: Flag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function describe(flag: Flag): string {
  const { isList, standard, help } = flag;
  const notes = [
    ...(isList === true ? ["may be repeated"] : []),
    ...(standard === undefined ? [] : [`default ${standard}`]),
    variableOf(flag),
  ];
  return `${help} [${notes.join(", ")}]`;
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
