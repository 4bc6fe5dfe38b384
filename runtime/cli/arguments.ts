import { parseArgs } from "node:util";
import { parseDuration } from "../metrics/duration.ts";
import { commandRow, isCommandName, type CommandName } from "./commands.ts";
import { variableOf, type Flag } from "./flags.ts";

/** The command line is not valid; the message is one sentence for the person who wrote it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What the command line asks for. */
export type Invocation =
  | { readonly command: "help"; readonly about?: CommandName }
  | { readonly command: "version" }
  | ({ readonly command: "run" } & RunArguments)
  | { readonly command: "validate"; readonly folder: string }
  | ({ readonly command: "dev-token" } & TokenArguments);

export interface RunArguments {
  readonly folder: string;
  readonly port: number;
  readonly adminPort: number;
  readonly host: string;
  readonly dataFolder: string;
  readonly natsUrl?: string;
  readonly natsServer?: string;
  readonly settingsFile?: string;
  readonly drainMs: number;
  readonly logLevel: string;
}

export interface TokenArguments {
  readonly dataFolder: string;
  readonly ttlSeconds: number;
  readonly client: string;
  readonly tenants: readonly string[];
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** Empty: the token narrows nothing. */
  readonly regions: readonly string[];
  readonly environments: readonly string[];
  readonly metrics: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const portMax = 65_535;
const drainSecondsMax = 3600;
const ttlSecondsMax = 30 * 86_400;
const logLevels = ["debug", "info", "warn", "error"];

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
  const { values, positionals } = parsed(command, args, flags);
  const given = new Given(values, flags, environment);
  const folder = folderOf(command, operand, positionals);
  switch (command) {
    case "run":
      return { command, ...runArguments(folder, given) };
    case "validate":
      return { command, folder };
    case "dev-token":
      return { command, ...tokenArguments(given) };
  }
}

type FlagValues = Readonly<Record<string, readonly string[] | undefined>>;

function parsed(command: CommandName, args: readonly string[], flags: readonly Flag[]) {
  try {
    // Every flag may be repeated for the parser, so that a repetition can be refused instead of the last one winning.
    const options = Object.fromEntries(flags.map(({ name }) => [name, { type: "string", multiple: true } as const]));
    const { values, positionals } = parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
    return { values: values as FlagValues, positionals };
  } catch (cause) {
    const [sentence = ""] = (cause instanceof Error ? cause.message : String(cause)).split(". ");
    throw new UsageError(`${sentence}; see heliograph ${command} --help.`, { cause });
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

/** Flags with their environment variables and defaults. */
class Given {
  private readonly values: FlagValues;
  private readonly flags: readonly Flag[];
  private readonly environment: Environment;

  constructor(values: FlagValues, flags: readonly Flag[], environment: Environment) {
    this.values = values;
    this.flags = flags;
    this.environment = environment;
  }

  list(name: string): readonly string[] {
    const flag = this.flag(name);
    const inherited = this.environment[variableOf(flag)]?.split(",").filter((value) => value !== "");
    const list = this.values[name] ?? inherited ?? [];
    if (flag.required === true && list.length === 0) throw new UsageError(`--${name} is required.`);
    if (list.includes("")) throw new UsageError(`--${name} is empty.`);
    return list;
  }

  optional(name: string): string | undefined {
    const given = this.values[name];
    if (given !== undefined && given.length > 1) throw new UsageError(`--${name} is given ${given.length} times.`);
    const flag = this.flag(name);
    const inherited = this.environment[variableOf(flag)];
    const value = given?.[0] ?? (inherited === "" ? undefined : inherited) ?? flag.standard;
    if (value === "") throw new UsageError(`--${name} is empty.`);
    return value;
  }

  text(name: string): string {
    return this.optional(name) ?? "";
  }

  whole(name: string, max: number): number {
    const value = this.text(name);
    const number = /^\d{1,9}$/u.test(value) ? Number(value) : Number.NaN;
    if (number <= max) return number;
    throw new UsageError(`--${name} is a whole number from 0 to ${max}, not ${value}.`);
  }

  private flag(name: string): Flag {
    const flag = this.flags.find((candidate) => candidate.name === name);
    if (flag === undefined) throw new Error(`no flag ${name}`);
    return flag;
  }
}

function runArguments(folder: string, given: Given): RunArguments {
  const natsUrl = given.optional("nats");
  const natsServer = given.optional("nats-server");
  const settingsFile = given.optional("settings");
  const logLevel = given.text("log-level");
  if (!logLevels.includes(logLevel)) throw new UsageError(`--log-level is one of ${logLevels.join(", ")}, not ${logLevel}.`);
  return {
    folder,
    port: given.whole("port", portMax),
    adminPort: given.whole("admin-port", portMax),
    host: given.text("host"),
    dataFolder: given.text("data"),
    drainMs: given.whole("drain-seconds", drainSecondsMax) * 1000,
    logLevel,
    ...(natsUrl === undefined ? {} : { natsUrl: natsUrlOf(natsUrl) }),
    ...(natsServer === undefined ? {} : { natsServer }),
    ...(settingsFile === undefined ? {} : { settingsFile }),
  };
}

function natsUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url !== null && ["nats:", "tls:"].includes(url.protocol) && url.hostname !== "") return text;
  throw new UsageError("--nats is a URL such as nats://127.0.0.1:4222.");
}

function tokenArguments(given: Given): TokenArguments {
  const ttl = given.text("ttl");
  const ttlSeconds = parseDuration(ttl) ?? Number.NaN;
  if (!(ttlSeconds <= ttlSecondsMax)) throw new UsageError(`--ttl is a duration such as 90s, 30m or 12h, at most 30d, not ${ttl}.`);
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
  };
}
