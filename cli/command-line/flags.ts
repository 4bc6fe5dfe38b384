// Flags and commands: parsing, help, completion and exit codes. The commands are in the other folders of `cli/`.

import { parseArgs } from "node:util";

export type Environment = Readonly<Record<string, string | undefined>>;

/** One flag. Each can also be given as an environment variable; the flag wins. */
export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  /** One letter, for `-o` next to `--output`. */
  readonly short?: string;
  /** Placeholder of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly help: string;
  /** True for a flag that may be given several times, or once with values separated by commas. */
  readonly multiple?: boolean;
  readonly required?: boolean;
  /** Name of the environment variable. @default that of {@link variableOf} */
  readonly variable?: string;
  /** True for a value that only the environment can give, because other users of a machine see command lines. */
  readonly isSecret?: boolean;
  /** Text of the default; absent when there is none. */
  readonly standard?: string;
}

type Row = readonly [left: string, right: string];

/** The command line is not valid; the message is one sentence for the user. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

type FlagValues = Readonly<Record<string, readonly (string | boolean)[] | undefined>>;

/**
 * The value that Kubernetes puts into the variable `NAME_PORT` of each pod next to a Service `name`. It never means a
 * port to listen on. Source: Kubernetes documentation, "Service", "Environment variables".
 */
const serviceLink = /^(?:tcp|udp|sctp):\/\//u;
const logLevels = ["debug", "info", "warn", "error"];

/** @param command the words before the flags, for messages. @throws UsageError */
export function parseFlags(
  command: string,
  args: readonly string[],
  flags: readonly Flag[],
  { allowPositionals }: { readonly allowPositionals: boolean },
): { readonly values: FlagValues; readonly positionals: readonly string[] } {
  // The parser accepts repeated flags, so that a repetition can be rejected. Otherwise the last value would win.
  const options = flags
    .filter(({ isSecret }) => isSecret !== true)
    .map(({ name, value, short }) => {
      const type = value === undefined ? "boolean" : "string";
      return [name, { type, multiple: true, ...(short === undefined ? {} : { short }) }] as const;
    });
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(options), strict: true, allowPositionals });
  } catch (cause) {
    const [sentence = ""] = (cause instanceof Error ? cause.message : String(cause)).split(". ");
    throw new UsageError(`${sentence}; see ${command} --help.`, { cause });
  }
}

/** Flags with their environment variables and defaults. */
export class Given<Name extends string = string> {
  readonly #values: FlagValues;
  readonly #flags: readonly Flag[];
  readonly #environment: Environment;

  constructor(values: FlagValues, flags: readonly Flag[], environment: Environment) {
    this.#values = values;
    this.#flags = flags;
    this.#environment = environment;
  }

  /** @param dropsEmpty drops empty parts of a value, which are rejected otherwise. @throws UsageError */
  list(name: Name, dropsEmpty = false): readonly string[] {
    const given = this.#values[name]?.map(String);
    if (given === undefined) return this.#inheritedList(name);
    const parts = given.flatMap((value) => value.split(","));
    if ((dropsEmpty ? given : parts).includes("")) throw new UsageError(`--${name} is empty.`);
    return parts.filter((part) => part !== "");
  }

  /** Every value as it was given, with its commas. The variable has one. @throws UsageError */
  texts(name: Name): readonly string[] {
    const inherited = this.#inherited(name);
    const given = this.#values[name]?.map(String) ?? (inherited === undefined ? [] : [inherited]);
    if (given.includes("")) throw new UsageError(`--${name} is empty.`);
    return given;
  }

  optional(name: Name): string | undefined {
    const given = this.#values[name];
    if (given !== undefined && given.length > 1) throw new UsageError(`--${name} is given ${given.length} times.`);
    const value = given?.[0] ?? this.#inherited(name) ?? this.#flag(name).standard;
    if (value === "") throw new UsageError(`--${name} is empty.`);
    return value === undefined ? undefined : String(value);
  }

  /** Empty when there is neither a value nor a default. @throws UsageError also for a required flag without a value */
  text(name: Name): string {
    const value = this.optional(name);
    if (value === undefined && this.#flag(name).required === true) throw new UsageError(`--${name} is required.`);
    return value ?? "";
  }

  isSet(name: Name): boolean {
    const value = this.optional(name) ?? "false";
    if (["true", "false"].includes(value)) return value === "true";
    throw new UsageError(`--${name} must be true or false in the environment, not ${value}.`);
  }

  whole(name: Name, min: number, max: number): number {
    const value = this.text(name);
    const number = /^\d{1,9}$/u.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new UsageError(`--${name} must be an integer from ${min} to ${max}, not ${value}.`);
  }

  logLevel(name: Name): string {
    const level = this.text(name);
    if (logLevels.includes(level)) return level;
    throw new UsageError(`--${name} must be one of ${logLevels.join(", ")}, not ${level}.`);
  }

  /** A variable that is empty, or that Kubernetes set for a Service, counts as absent. */
  #inherited(name: Name): string | undefined {
    const variable = variableOf(this.#flag(name));
    const value = this.#environment[variable] ?? "";
    return value === "" || (variable.endsWith("_PORT") && serviceLink.test(value)) ? undefined : value;
  }

  #inheritedList(name: Name): readonly string[] {
    const list = (this.#inherited(name) ?? "").split(",").filter((part) => part !== "");
    if (list.length > 0 || this.#flag(name).required !== true) return list;
    throw new UsageError(`--${name} is required.`);
  }

  #flag(name: Name): Flag {
    const flag = this.#flags.find((candidate) => candidate.name === name);
    if (flag === undefined) throw new Error(`unknown flag ${name}`);
    return flag;
  }
}

/** `admin-port` → `HELIOGRAPH_ADMIN_PORT`, unless a standard names the variable. */
export function variableOf({ name, variable }: Flag): string {
  return variable ?? `HELIOGRAPH_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** `--shards COUNT`, `--all-namespaces`, `-o, --output FORMAT`; empty for a secret. */
export function usageOf({ name, value, short, isSecret = false }: Flag): string {
  if (isSecret) return "";
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return value === undefined ? names : `${names} ${value}`;
}

/** The value of a flag that takes one of a few words. @throws UsageError */
export function oneOf<Word extends string>(given: Given, flag: string, words: readonly Word[]): Word {
  const value = given.text(flag);
  const word = words.find((one) => one === value);
  if (word !== undefined) return word;
  throw new UsageError(`--${flag} must be one of ${words.join(", ")}, not ${value}.`);
}

/** Lines of two aligned columns. */
export function columns(rows: readonly Row[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

/** The section of flags. @param more rows after the flags */
export function flagLines(flags: readonly Flag[], more: readonly Row[]): readonly string[] {
  const rows = flags.map((flag): Row => [flag.isSecret === true ? variableOf(flag) : usageOf(flag), describe(flag)]);
  return [
    "Flags (each can also be set as an environment variable; the flag takes precedence):",
    ...columns([...rows, ...more]),
  ];
}

function describe(flag: Flag): string {
  const notes = [
    ...(flag.required === true ? ["required"] : []),
    ...(flag.multiple === true ? ["may be repeated"] : []),
    ...(flag.standard === undefined ? [] : [`default ${flag.standard}`]),
    flag.isSecret === true ? "environment only" : variableOf(flag),
  ];
  return `${flag.help} [${notes.join(", ")}]`;
}
