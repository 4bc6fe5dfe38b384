import { hostname } from "node:os";
import { shardCountMax } from "../../crds/shards/shards.ts";
import type { ConfigPlace, NatsPlace } from "../../runtime/program/start-runtime.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import type { Command } from "../command-line/command.ts";
import {
  adminPort,
  dataFlag,
  drainSeconds,
  host,
  logLevel,
  memory,
  natsAccessOfFlags,
  natsFlags,
  natsServer,
  port,
  processes,
  serverArguments,
  settings,
  tracingFlags,
} from "./server-flags.ts";
import { boundHeap } from "./heap.ts";
import type { RuntimeArguments } from "./serve.ts";

const unreadySecondsMax = 600;
const namePattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/u;

export const runtimeFlags = [
  {
    name: "config",
    value: "WHERE",
    help: "Configuration source: `kubernetes` for the Secrets written by the operator, or a folder as for `run`.",
    required: true,
  },
  {
    name: "namespace",
    value: "NAMESPACE",
    help: "Namespace of the Secrets; defaults to the pod's, then that of the kubeconfig's context.",
  },
  { name: "config-prefix", value: "PREFIX", help: "Name prefix of the Secrets.", standard: "heliograph" },
  {
    name: "stream-record",
    value: "NAME",
    help: "ConfigMap with the record of the streams; defaults to PREFIX-streams.",
  },
  { name: "shards", value: "COUNT", help: "Number of resource shards; must match the operator.", standard: "32" },
  {
    name: "key-shards",
    value: "COUNT",
    help: "Number of key shards; must match the operator.",
    standard: "8",
  },
  {
    name: "kubeconfig",
    value: "FILE",
    help: "Kubeconfig file; defaults to KUBECONFIG, then the pod's service account.",
  },
  {
    name: "config-cache",
    value: "DIR",
    help:
      "Folder for copies of the Secrets, including signing keys, to start without the API server; no copies by " +
      "default.",
  },
  {
    name: "nats",
    value: "URL",
    help: "NATS URL, or `embedded` to start a nats-server.",
    required: true,
  },
  ...natsFlags,
  natsServer,
  { ...dataFlag, help: "Data folder of the embedded nats-server." },
  port,
  adminPort,
  { ...host, standard: "::", help: "Listen address of both ports; `::` is all addresses, including IPv4." },
  processes,
  settings,
  {
    name: "pod-name",
    value: "NAME",
    help: "Name of this pod, unique among pods that share NATS; defaults to the host name.",
  },
  {
    name: "unready-seconds",
    value: "SECONDS",
    help: "Time after a signal in which `/readyz` returns 503 and requests are still served, before draining.",
    standard: "5",
  },
  memory,
  drainSeconds,
  logLevel,
  ...tracingFlags,
] as const satisfies readonly Flag[];

/** `heliograph runtime` */
export const runtimeCommand: Command<RuntimeArguments> = {
  summary: "Runs one of several pods, with the configuration that the operator compiles.",
  flags: runtimeFlags,
  read: runtimeArguments,
  run: async (args) => {
    boundHeap(args);
    return (await import("./serve.ts")).servePod(args);
  },
};

/** @throws UsageError */
function runtimeArguments(given: Given): RuntimeArguments {
  return {
    ...serverArguments(given),
    config: configPlaceOf(given),
    nats: natsPlaceOf(given),
    podName: given.optional("pod-name") ?? hostname(),
    unreadyMs: given.whole("unready-seconds", 0, unreadySecondsMax) * 1000,
  };
}

function configPlaceOf(given: Given): ConfigPlace {
  const config = given.text("config");
  if (config !== "kubernetes") return { kind: "folder", path: config };
  const prefix = named(given, "config-prefix") ?? "";
  const namespace = named(given, "namespace");
  const streamRecord = named(given, "stream-record");
  const kubeconfig = given.optional("kubeconfig");
  const cacheFolder = given.optional("config-cache");
  return {
    kind: "kubernetes",
    prefix,
    counts: { config: given.whole("shards", 1, shardCountMax), keys: given.whole("key-shards", 1, shardCountMax) },
    ...(namespace === undefined ? {} : { namespace }),
    ...(streamRecord === undefined ? {} : { streamRecord }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(cacheFolder === undefined ? {} : { cacheFolder }),
  };
}

function named(given: Given, flag: string): string | undefined {
  const name = given.optional(flag);
  if (name === undefined || namePattern.test(name)) return name;
  throw new UsageError(`--${flag} must be a name of lowercase letters, digits, dots and dashes, not ${name}.`);
}

function natsPlaceOf(given: Given): NatsPlace {
  const nats = given.text("nats");
  const program = given.optional("nats-server");
  if (nats === "embedded") {
    return {
      kind: "embedded",
      dataFolder: given.text("data"),
      ...(program === undefined ? {} : { natsServer: program }),
    };
  }
  return { kind: "server", access: natsAccessOfFlags(nats, given) };
}
