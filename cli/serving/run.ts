// Commands that run the product on this machine or prepare for it. The parts of the process are in `runtime/program/`.
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
import type { RunArguments } from "./serve.ts";

const runFlags = [
  port,
  adminPort,
  host,
  processes,
  dataFlag,
  { name: "nats", value: "URL", help: "NATS URL to use instead of an embedded nats-server." },
  ...natsFlags,
  natsServer,
  settings,
  memory,
  drainSeconds,
  logLevel,
  ...tracingFlags,
] as const satisfies readonly Flag[];

/** `heliograph run` */
export const runCommand: Command<RunArguments> = {
  summary: "Runs everything on one machine, configured by YAML files in a folder.",
  operands: [{ name: "DIR" }],
  flags: runFlags,
  read: (given, [folder = ""]) => runArguments(folder, given),
  run: async (args) => {
    boundHeap(args);
    return (await import("./serve.ts")).serveStandalone(args);
  },
};

function runArguments(folder: string, given: Given): RunArguments {
  const nats = given.optional("nats");
  const program = given.optional("nats-server");
  if (nats === undefined && given.optional("nats-auth") !== undefined)
    throw new UsageError("--nats-auth requires --nats: the embedded nats-server has generated credentials.");
  return {
    folder,
    dataFolder: given.text("data"),
    ...serverArguments(given),
    ...(nats === undefined ? {} : { nats: natsAccessOfFlags(nats, given) }),
    ...(program === undefined ? {} : { natsServer: program }),
  };
}
