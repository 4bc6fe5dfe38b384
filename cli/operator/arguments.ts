import type { WatchedNamespaces } from "../../operator/inventory/watched-set.ts";
import type { LeaseTimes, RuntimePods } from "../../operator/options.ts";
import { type Environment, type Flag, Given, parseFlags, UsageError } from "../command-line/flags.ts";

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
const prefixForm = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/u;

type OwnFlags = Given<FlagName>;

/** Every flag. `docs/reference/operator.md` holds the same; a test compares them. */
export const flags = [
  {
    name: "namespace",
    value: "NS",
    help:
      "Namespace of the installation: its Lease, shards and runtime Service. Defaults to the pod's or the " +
      "kubeconfig's.",
  },
  {
    name: "watch-namespaces",
    value: "NS",
    help: "Namespaces whose resources are applied, separated by commas. Defaults to the installation's.",
    multiple: true,
  },
  { name: "all-namespaces", help: "Applies resources in all namespaces." },
  {
    name: "selector",
    value: "SELECTOR",
    help: "Label selector for resources; resources that do not match belong to another installation.",
  },
  {
    name: "runtime-service",
    value: "NAME",
    help: "Service whose ready pods must apply a resource before it becomes Programmed.",
    standard: "heliograph-runtime",
  },
  {
    name: "runtime-port",
    value: "NAME",
    help: "Name of the Service port that serves /configz.",
    standard: "admin",
  },
  {
    name: "runtime-url",
    value: "URL",
    help: "URL of a runtime to poll instead of the pods of the Service.",
    multiple: true,
  },
  {
    name: "policy",
    value: "FILE",
    help: "YAML policy that limits what namespaces may use; reloaded when it changes. By default nothing is limited.",
  },
  {
    name: "policy-config-map",
    value: "NAME",
    help: "ConfigMap in the installation's namespace whose key policy.yaml is mounted as --policy; watched.",
  },
  {
    name: "config-prefix",
    value: "PREFIX",
    help: "Name prefix of the shards and the Lease.",
    standard: "heliograph",
  },
  {
    name: "shards",
    value: "N",
    help: "Number of resource shards, 1 to 100; must match the runtime.",
    standard: "32",
  },
  {
    name: "key-shards",
    value: "N",
    help: "Number of key shards, 1 to 100; must match the runtime.",
    standard: "8",
  },
  {
    name: "lease-seconds",
    value: "SECONDS",
    help: "Time without a renewal after which another replica becomes the leader.",
    standard: "15",
  },
  {
    name: "lease-renew-seconds",
    value: "SECONDS",
    help: "Time without a successful renewal after which the leader stops.",
    standard: "10",
  },
  {
    name: "lease-retry-seconds",
    value: "SECONDS",
    help: "Interval between attempts to acquire or renew the Lease.",
    standard: "2",
  },
  {
    name: "last-good-seconds",
    value: "SECONDS",
    help:
      "Time that the last good version of an object stays in force while one of its Secrets cannot be read, 0 " +
      "to 2592000.",
    standard: "604800",
  },
  { name: "identity", value: "NAME", help: "Name of this replica. Defaults to the host name with a random suffix." },
  {
    name: "workers",
    value: "N",
    help: "Number of resources of each kind whose status is updated concurrently, 1 to 64.",
    standard: "16",
  },
  {
    name: "metrics-port",
    value: "PORT",
    help: "Port of /metrics, /healthz and /readyz; 0 picks a free one.",
    standard: "9090",
  },
  { name: "host", value: "ADDRESS", help: "Listen address. Defaults to all addresses." },
  {
    name: "kubeconfig",
    value: "PATH",
    help: "Kubeconfig file. Defaults to KUBECONFIG, then ~/.kube/config, then the pod's service account.",
  },
  { name: "context", value: "NAME", help: "Kubeconfig context. Defaults to the current context." },
  {
    name: "drain-seconds",
    value: "SECONDS",
    help: "Time to write pending Kubernetes events after a signal.",
    standard: "5",
  },
  {
    name: "log-level",
    value: "LEVEL",
    help: "Minimum log level: debug, info, warn or error.",
    standard: "info",
  },
] as const satisfies readonly Flag[];

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
