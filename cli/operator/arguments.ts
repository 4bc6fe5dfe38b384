import type { WatchedNamespaces } from "../../operator/inventory/watched-set.ts";
import type { LeaseTimes, RuntimePods } from "../../operator/options.ts";
import type { OwnedRules } from "../../operator/rules/decide-rule.ts";
import { type Environment, Given, oneOf, parseFlags, UsageError } from "../command-line/flags.ts";
import { flags } from "./flags.ts";

/** The parsed command line. */
export type Invocation =
  | { readonly command: "help" }
  | { readonly command: "version" }
  | ({ readonly command: "run" } & Arguments);

export interface Arguments {
  /** Absent: that of the pod or of the kubeconfig. */
  readonly namespace?: string;
  /** Absent: only the installation's namespace. */
  readonly watched?: WatchedNamespaces;
  readonly selector?: string;
  readonly runtime: RuntimePods;
  readonly policyFile?: string;
  readonly policyConfigMap?: string;
  /** Absent: the operator writes no alert rules. */
  readonly rules?: Pick<OwnedRules, "mode" | "labels">;
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

const portMax = 65_535;
const secondsMax = 3_600;
const lastGoodSecondsMax = 30 * 86_400;
const shardsMax = 100;
const workersMax = 64;
const callTimeoutMsMax = 3_000;

/** A DNS label, and the allowed prefixes of shard names. */
const labelForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;
/** Source: Kubernetes documentation, "Labels and Selectors", syntax and character set. */
const labelPart = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?";
const labelDomain = "[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?";
const objectLabel = new RegExp(`^(?<name>(?:${labelDomain}/)?${labelPart})=(?<value>(?:${labelPart})?)$`, "u");
const prefixForm = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/u;

type OwnFlags = Given<FlagName>;

type FlagName = (typeof flags)[number]["name"];

/** Reads the command line, without the program's own name. @throws UsageError */
export function readArguments(argv: readonly string[], environment: Environment): Invocation {
  if (argv.some((argument) => ["--help", "-h"].includes(argument))) return { command: "help" };
  if (argv.includes("--version")) return { command: "version" };
  const { values } = parseFlags("heliograph-operator", argv, flags, { allowPositionals: false });
  const given: OwnFlags = new Given(values, flags, environment);
  return { command: "run", ...runArguments(given) };
}

function runArguments(given: OwnFlags): Arguments {
  const prefix = given.text("config-prefix");
  if (!prefixForm.test(prefix))
    throw new UsageError(`--config-prefix must be up to 40 lowercase letters, digits and hyphens, not ${prefix}.`);
  return {
    ...optionals(given),
    ...scopeOf(given),
    ...rulesOf(given),
    runtime: runtimeOf(given),
    prefix,
    counts: { config: given.whole("shards", 1, shardsMax), keys: given.whole("key-shards", 1, shardsMax) },
    lease: leaseOf(given),
    lastGoodMs: given.whole("last-good-seconds", 0, lastGoodSecondsMax) * 1000,
    workers: given.whole("workers", 1, workersMax),
    metricsPort: given.whole("metrics-port", 0, portMax),
    drainMs: given.whole("drain-seconds", 0, secondsMax) * 1000,
    logLevel: given.logLevel("log-level"),
  };
}

function optionals(given: OwnFlags): Partial<Arguments> {
  const entries = {
    selector: given.optional("selector"),
    policyFile: given.optional("policy"),
    policyConfigMap: given.optional("policy-config-map"),
    identity: given.optional("identity"),
    host: given.optional("host"),
    kubeconfig: given.optional("kubeconfig"),
    context: given.optional("context"),
  };
  if (entries.policyConfigMap !== undefined && entries.policyFile === undefined)
    throw new UsageError("--policy-config-map requires --policy, which applies until the ConfigMap is read.");
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

function scopeOf(given: OwnFlags): Pick<Arguments, "namespace" | "watched"> {
  const namespace = given.optional("namespace");
  const listed = given.list("watch-namespaces", true);
  const odd = [...(namespace === undefined ? [] : [namespace]), ...listed].find((name) => !labelForm.test(name));
  if (odd !== undefined) throw new UsageError(`${odd} is not a valid namespace name.`);
  const isAll = given.isSet("all-namespaces");
  if (isAll && listed.length > 0)
    throw new UsageError("--all-namespaces and --watch-namespaces are mutually exclusive.");
  const watched = isAll ? { watched: "all" as const } : listed.length > 0 ? { watched: listed } : {};
  return { ...(namespace === undefined ? {} : { namespace }), ...watched };
}

function runtimeOf(given: OwnFlags): RuntimePods {
  const urls = given.list("runtime-url", true);
  const odd = urls.find((text) => !["http:", "https:"].includes(URL.parse(text)?.protocol ?? ""));
  if (odd !== undefined) throw new UsageError(`--runtime-url must be a URL such as http://127.0.0.1:9090, not ${odd}.`);
  return urls.length > 0 ? { urls } : { service: given.text("runtime-service"), portName: given.text("runtime-port") };
}

function rulesOf(given: OwnFlags): Pick<Arguments, "rules"> {
  const mode = oneOf(given, "prometheus-rules", ["off", "write", "remove"]);
  const pairs = given.list("prometheus-rule-label").map((text) => {
    const { name, value } = objectLabel.exec(text)?.groups ?? {};
    if (name === undefined || value === undefined)
      throw new UsageError(`--prometheus-rule-label must be NAME=VALUE with a Kubernetes label, not ${text}.`);
    return [name, value] as const;
  });
  return mode === "off" ? {} : { rules: { mode, labels: Object.fromEntries(pairs) } };
}

function leaseOf(given: OwnFlags): LeaseTimes {
  const ms = (name: FlagName): number => given.whole(name, 1, secondsMax) * 1000;
  const [leaseMs, renewDeadlineMs, retryMs] = [
    ms("lease-seconds"),
    ms("lease-renew-seconds"),
    ms("lease-retry-seconds"),
  ];
  // Two calls and a pause must fit before the renew deadline.
  const callTimeoutMs = Math.min(callTimeoutMsMax, Math.floor((renewDeadlineMs - retryMs - 1) / 2));
  if (leaseMs <= renewDeadlineMs || renewDeadlineMs <= retryMs || callTimeoutMs <= 0)
    throw new UsageError("--lease-seconds must exceed --lease-renew-seconds, which must exceed --lease-retry-seconds.");
  return { leaseMs, renewDeadlineMs, retryMs, callTimeoutMs };
}
