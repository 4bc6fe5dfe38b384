// Commands that run the product on this machine or prepare for it. The parts of the process are in `runtime/program/`.
import type { Flag } from "../command-line/flag.ts";
import { UsageError, type Given } from "../command-line/given.ts";
import type { Command } from "../command-line/command.ts";
import { dataFlag, natsFlags } from "../command-line/data-flags.ts";
import { boundHeap, memoryPlanOf } from "./heap.ts";
import { natsAccessOfFlags, serverArguments } from "./server-arguments.ts";
import {
  adminPort,
  drainSeconds,
  host,
  logLevel,
  memory,
  natsServer,
  port,
  processes,
  settings,
  tracingFlags,
} from "./server-flags.ts";
import type { RunArguments } from "./serve-standalone.ts";

const runFlags = [
  port,
  adminPort,
  host,
  processes,
  dataFlag,
  { name: "nats", value: "URL", help: "NATS to use instead of an own nats-server." },
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
  summary: "Runs everything on one machine, configured by the YAML files of a folder.",
  operands: [{ name: "DIR" }],
  flags: runFlags,
  read: (given, [folder = ""]) => runArguments(folder, given),
  run: async (args) => {
    boundHeap(memoryPlanOf(args));
    return (await import("./serve-standalone.ts")).serveStandalone(args);
  },
};

function runArguments(folder: string, given: Given): RunArguments {
  const nats = given.optional("nats");
  const program = given.optional("nats-server");
  if (nats === undefined && given.optional("nats-auth") !== undefined)
    throw new UsageError("--nats-auth needs --nats: the own nats-server has credentials of its own.");
  return {
    folder,
    dataFolder: given.text("data"),
    ...serverArguments(given),
    ...(nats === undefined ? {} : { nats: natsAccessOfFlags(nats, given) }),
    ...(program === undefined ? {} : { natsServer: program }),
  };
}
