import { hostname } from "node:os";
import { type Given, UsageError } from "../command-line/flags.ts";
import { shardCountMax } from "../../crds/shards/shards.ts";
import type { ConfigPlace, NatsPlace } from "../../runtime/main.ts";
import { natsAccessOfFlags, serverArguments, type ServerArguments } from "./server-flags.ts";

export interface RuntimeArguments extends ServerArguments {
  readonly config: ConfigPlace;
  readonly nats: NatsPlace;
  readonly podName: string;
  readonly unreadyMs: number;
}

const unreadySecondsMax = 600;
const namePattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/u;

/** @throws UsageError */
export function runtimeArguments(given: Given): RuntimeArguments {
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
  throw new UsageError(`--${flag} is a name of small letters, digits, dots and dashes, not ${name}.`);
}

function natsPlaceOf(given: Given): NatsPlace {
  const nats = given.text("nats");
  const natsServer = given.optional("nats-server");
  if (nats === "embedded") {
    return { kind: "embedded", dataFolder: given.text("data"), ...(natsServer === undefined ? {} : { natsServer }) };
  }
  return { kind: "server", access: natsAccessOfFlags(nats, given) };
}
