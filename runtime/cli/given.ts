import { variableOf, type Flag } from "./flags.ts";

/** The command line is not valid; the message is one sentence for the user. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export type Environment = Readonly<Record<string, string | undefined>>;

export type FlagValues = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * The value that Kubernetes puts into the variable `NAME_PORT` of each pod beside a Service `name`. It never means a
 * port to listen on. Source: Kubernetes documentation, "Service", "Environment variables".
 */
const serviceLink = /^(?:tcp|udp|sctp):\/\//u;

/** Flags with their environment variables and defaults. */
export class Given {
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
    const inherited = this.inherited(flag)
      ?.split(",")
      .filter((value) => value !== "");
    const list = this.values[name]?.flatMap((values) => values.split(",")) ?? inherited ?? [];
    if (flag.required === true && list.length === 0) throw new UsageError(`--${name} is required.`);
    if (list.includes("")) throw new UsageError(`--${name} is empty.`);
    return list;
  }

  optional(name: string): string | undefined {
    const given = this.values[name];
    if (given !== undefined && given.length > 1) throw new UsageError(`--${name} is given ${given.length} times.`);
    const flag = this.flag(name);
    const value = given?.[0] ?? this.inherited(flag) ?? flag.standard;
    if (value === "") throw new UsageError(`--${name} is empty.`);
    return value;
  }

  /** Empty when there is neither a value nor a default. @throws UsageError also for a required flag without a value */
  text(name: string): string {
    const value = this.optional(name);
    if (value === undefined && this.flag(name).required === true) throw new UsageError(`--${name} is required.`);
    return value ?? "";
  }

  whole(name: string, max: number, min = 0): number {
    const value = this.text(name);
    const number = /^\d{1,9}$/u.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new UsageError(`--${name} is a whole number from ${min} to ${max}, not ${value}.`);
  }

  /** A variable that is empty, or of a Service, is as good as none. */
  private inherited(flag: Flag): string | undefined {
    const variable = variableOf(flag);
    const value = this.environment[variable] ?? "";
    return value === "" || (variable.endsWith("_PORT") && serviceLink.test(value)) ? undefined : value;
  }

  private flag(name: string): Flag {
    const flag = this.flags.find((candidate) => candidate.name === name);
    if (flag === undefined) throw new Error(`no flag ${name}`);
    return flag;
  }
}
