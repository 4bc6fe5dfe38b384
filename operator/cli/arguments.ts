import { parseArgs } from "node:util";
import type { WatchedNamespaces } from "../inventory/watched-set.ts";
import type { LeaseTimes, RuntimePods } from "../options.ts";
import { type Flag, type FlagName, flags, variableOf } from "./flags.ts";

/** The command line is not valid; the message is one sentence for the person who wrote it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What the command line asks for. */
export type Invocation =
  | { readonly command: "help" }
  | { readonly command: "version" }
  | ({ readonly command: "run" } & Arguments);

export interface Arguments {
  /** Absent: the pod's own, or the kubeconfig's. */
  readonly namespace?: string;
  /** Absent: the installation's namespace alone. */
  readonly watched?: WatchedNamespaces;
  readonly selector?: string;
  readonly runtime: RuntimePods;
  readonly policyFile?: string;
  readonly prefix: string;
  readonly counts: { readonly config: number; readonly keys: number };
  readonly lease: LeaseTimes;
  readonly lastGoodMs: number;
  readonly identity?: string;
  readonly workers: number;
  readonly metricsPort: number;
  readonly host?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly drainMs: number;
  readonly logLevel: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What Kubernetes puts into the variable `NAME_PORT` of each pod beside a Service `name`: never somebody's wish. */
const serviceLink = /^(?:tcp|udp|sctp):\/\//u;

const portMax = 65_535;
const secondsMax = 3_600;
const lastGoodSecondsMax = 30 * 86_400;
const shardsMax = 100;
const workersMax = 64;
const callTimeoutMsMax = 3_000;
const logLevels = ["debug", "info", "warn", "error"];

/** A DNS label, and what the names of shards may begin with. */
const labelForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;
const prefixForm = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/u;

/** Reads the command line, without the program's own name. @throws UsageError */
export function readArguments(argv: readonly string[], environment: Environment): Invocation {
  if (argv.some((argument) => ["--help", "-h"].includes(argument))) return { command: "help" };
  if (argv.includes("--version")) return { command: "version" };
  const given = new Given(parsed(argv), environment);
  return { command: "run", ...runArguments(given) };
}

type FlagValues = Readonly<Record<string, readonly (string | boolean)[] | undefined>>;

function parsed(argv: readonly string[]): FlagValues {
  try {
    // Every flag may be repeated for the parser, so that a repetition can be refused instead of the last one winning.
    const options = flags.map(
      (flag) => [flag.name, { type: "value" in flag ? "string" : "boolean", multiple: true }] as const,
    );
    return parseArgs({ args: [...argv], options: Object.fromEntries(options), strict: true }).values;
  } catch (cause) {
    const [sentence = ""] = (cause instanceof Error ? cause.message : String(cause)).split(". ");
    throw new UsageError(`${sentence}; see heliograph-operator --help.`, { cause });
  }
}

/** Flags with their environment variables and defaults. */
class Given {
  readonly #values: FlagValues;
  readonly #environment: Environment;

  constructor(values: FlagValues, environment: Environment) {
    this.#values = values;
    this.#environment = environment;
  }

  optional(name: FlagName): string | undefined {
    const given = this.#values[name];
    if (given !== undefined && given.length > 1) throw new UsageError(`--${name} is given ${given.length} times.`);
    const value = given?.[0] ?? this.#inherited(name) ?? flagOf(name).standard;
    if (value === "") throw new UsageError(`--${name} is empty.`);
    return value === undefined ? undefined : String(value);
  }

  text(name: FlagName): string {
    return this.optional(name) ?? "";
  }

  list(name: FlagName): readonly string[] {
    const given = this.#values[name]?.map(String);
    if (given?.includes("") === true) throw new UsageError(`--${name} is empty.`);
    return (given ?? [this.#inherited(name) ?? ""])
      .flatMap((values) => values.split(","))
      .filter((value) => value !== "");
  }

  isSet(name: FlagName): boolean {
    const value = this.optional(name) ?? "false";
    if (["true", "false"].includes(value)) return value === "true";
    throw new UsageError(`--${name} is true or false in the environment, not ${value}.`);
  }

  whole(name: FlagName, min: number, max: number): number {
    const value = this.text(name);
    const number = /^\d{1,9}$/u.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new UsageError(`--${name} is a whole number from ${min} to ${max}, not ${value}.`);
  }

  /** A variable that is empty, or of a Service, is as good as none. */
  #inherited(name: FlagName): string | undefined {
    const variable = variableOf(flagOf(name));
    const value = this.#environment[variable] ?? "";
    return value === "" || (variable.endsWith("_PORT") && serviceLink.test(value)) ? undefined : value;
  }
}

function flagOf(name: FlagName): Flag {
  const flag = flags.find((candidate) => candidate.name === name);
  if (flag === undefined) throw new Error(`no flag ${name}`);
  return flag;
}

function runArguments(given: Given): Arguments {
  const logLevel = given.text("log-level");
  if (!logLevels.includes(logLevel))
    throw new UsageError(`--log-level is one of ${logLevels.join(", ")}, not ${logLevel}.`);
  const prefix = given.text("config-prefix");
  if (!prefixForm.test(prefix))
    throw new UsageError(`--config-prefix is up to 40 small letters, digits and hyphens, not ${prefix}.`);
  return {
    ...optionals(given),
    ...scopeOf(given),
    runtime: runtimeOf(given),
    prefix,
    counts: { config: given.whole("shards", 1, shardsMax), keys: given.whole("key-shards", 1, shardsMax) },
    lease: leaseOf(given),
    lastGoodMs: given.whole("last-good-seconds", 0, lastGoodSecondsMax) * 1000,
    workers: given.whole("workers", 1, workersMax),
    metricsPort: given.whole("metrics-port", 0, portMax),
    drainMs: given.whole("drain-seconds", 0, secondsMax) * 1000,
    logLevel,
  };
}

function optionals(given: Given): Partial<Arguments> {
  const entries = {
    selector: given.optional("selector"),
    policyFile: given.optional("policy"),
    identity: given.optional("identity"),
    host: given.optional("host"),
    kubeconfig: given.optional("kubeconfig"),
    context: given.optional("context"),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

function scopeOf(given: Given): Pick<Arguments, "namespace" | "watched"> {
  const namespace = given.optional("namespace");
  const listed = given.list("watch-namespaces");
  const odd = [...(namespace === undefined ? [] : [namespace]), ...listed].find((name) => !labelForm.test(name));
  if (odd !== undefined) throw new UsageError(`${odd} is not the name of a namespace.`);
  const isAll = given.isSet("all-namespaces");
  if (isAll && listed.length > 0) throw new UsageError("--all-namespaces and --watch-namespaces exclude each other.");
  const watched = isAll ? { watched: "all" as const } : listed.length > 0 ? { watched: listed } : {};
  return { ...(namespace === undefined ? {} : { namespace }), ...watched };
}

function runtimeOf(given: Given): RuntimePods {
  const urls = given.list("runtime-url");
  const odd = urls.find((text) => !["http:", "https:"].includes(URL.parse(text)?.protocol ?? ""));
  if (odd !== undefined) throw new UsageError(`--runtime-url is a URL such as http://127.0.0.1:9090, not ${odd}.`);
  return urls.length > 0 ? { urls } : { service: given.text("runtime-service"), portName: given.text("runtime-port") };
}

function leaseOf(given: Given): LeaseTimes {
  const ms = (name: FlagName): number => given.whole(name, 1, secondsMax) * 1000;
  const [leaseMs, renewDeadlineMs, retryMs] = [
    ms("lease-seconds"),
    ms("lease-renew-seconds"),
    ms("lease-retry-seconds"),
  ];
  // Two calls and a pause must fit before the leader gives up.
  const callTimeoutMs = Math.min(callTimeoutMsMax, Math.floor((renewDeadlineMs - retryMs - 1) / 2));
  if (leaseMs <= renewDeadlineMs || renewDeadlineMs <= retryMs || callTimeoutMs <= 0) {
    throw new UsageError("--lease-seconds must exceed --lease-renew-seconds, and that --lease-retry-seconds.");
  }
  return { leaseMs, renewDeadlineMs, retryMs, callTimeoutMs };
}
