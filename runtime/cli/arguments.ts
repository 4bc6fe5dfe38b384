import { Given, parseFlags, UsageError, type Environment } from "../../command-line/given.ts";
import { parseDuration } from "../metrics/request/duration.ts";
import { commandRow, isCommandName, type CommandName } from "./commands.ts";
import { serverArguments, natsUrlOf, type ServerArguments } from "./server-arguments.ts";
import { runtimeArguments, type RuntimeArguments } from "./runtime-arguments.ts";

/** A parsed command line. */
export type Invocation =
  | { readonly command: "help"; readonly about?: CommandName }
  | { readonly command: "version" }
  | ({ readonly command: "run" } & RunArguments)
  | ({ readonly command: "runtime" } & RuntimeArguments)
  | { readonly command: "validate"; readonly folder: string }
  | ({ readonly command: "dev-token" } & TokenArguments);

export interface RunArguments extends ServerArguments {
  readonly folder: string;
  readonly dataFolder: string;
  readonly natsUrl?: string;
  readonly natsServer?: string;
}

export interface TokenArguments {
  readonly dataFolder: string;
  readonly ttlSeconds: number;
  readonly client: string;
  readonly tenants: readonly string[];
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** Empty: the token does not restrict regions. */
  readonly regions: readonly string[];
  readonly environments: readonly string[];
  readonly metrics: readonly string[];
  readonly partners: readonly string[];
}

const ttlSecondsMax = 30 * 86_400;

/** Reads the command line, without the program's own name. @throws UsageError */
export function readArguments(argv: readonly string[], environment: Environment): Invocation {
  const [first = "--help", ...rest] = argv;
  if (["--help", "-h", "help"].includes(first)) return { command: "help" };
  if (first === "--version") return { command: "version" };
  if (!isCommandName(first)) throw new UsageError(`There is no command ${first}; see heliograph --help.`);
  if (rest.includes("--help") || rest.includes("-h")) return { command: "help", about: first };
  return readCommand(first, rest, environment);
}

function readCommand(command: CommandName, args: readonly string[], environment: Environment): Invocation {
  const { flags, operand } = commandRow(command);
  const { values, positionals } = parseFlags(`heliograph ${command}`, args, flags, { allowPositionals: true });
  const given = new Given(values, flags, environment);
  const folder = folderOf(command, operand, positionals);
  switch (command) {
    case "run":
      return { command, ...runArguments(folder, given) };
    case "runtime":
      return { command, ...runtimeArguments(given) };
    case "validate":
      return { command, folder };
    case "dev-token":
      return { command, ...tokenArguments(given) };
  }
}

function folderOf(command: CommandName, operand: string | undefined, positionals: readonly string[]): string {
  const [folder, ...more] = positionals;
  if (operand === undefined ? folder !== undefined : more.length > 0) {
    throw new UsageError(`${command} takes ${operand === undefined ? "no operand" : `one ${operand}`}.`);
  }
  if (operand !== undefined && folder === undefined) throw new UsageError(`${command} needs a ${operand}.`);
  return folder ?? "";
}

function runArguments(folder: string, given: Given): RunArguments {
  const natsUrl = given.optional("nats");
  const natsServer = given.optional("nats-server");
  return {
    folder,
    dataFolder: given.text("data"),
    ...serverArguments(given),
    ...(natsUrl === undefined ? {} : { natsUrl: natsUrlOf(natsUrl) }),
    ...(natsServer === undefined ? {} : { natsServer }),
  };
}

function tokenArguments(given: Given): TokenArguments {
  const ttl = given.text("ttl");
  const ttlSeconds = parseDuration(ttl) ?? Number.NaN;
  if (!(ttlSeconds <= ttlSecondsMax))
    throw new UsageError(`--ttl is a duration such as 90s, 30m or 12h, at most 30d, not ${ttl}.`);
  return {
    dataFolder: given.text("data"),
    ttlSeconds,
    client: given.text("client"),
    tenants: given.list("tenant"),
    scopes: given.list("scope").flatMap((scopes) => scopes.split(/\s+/u)),
    roles: given.list("role"),
    regions: given.list("region"),
    environments: given.list("environment"),
    metrics: given.list("metric"),
    partners: given.list("partner"),
  };
}
