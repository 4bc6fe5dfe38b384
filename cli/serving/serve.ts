import cluster from "node:cluster";
import { flushCompileCache } from "node:module";
import { type Logger, pino } from "pino";
import type { NatsAccess } from "../../runtime/nats/connection/nats-access.ts";
import type { PodPlan } from "../../runtime/processes/start-pod.ts";
import type { PodMember } from "../../runtime/program/program-plan.ts";
import type { Program } from "../../runtime/program/program.ts";
import type { Shutdown } from "../../runtime/program/shutdown.ts";
import { StartError } from "../../runtime/program/start-error.ts";
import { exitCodes, type ExitName } from "../command-line/command.ts";
import { endOnFatal, firstSignal } from "../command-line/end-process.ts";
import { limitRepeatedLines } from "../command-line/repeated-lines.ts";
import { startSized } from "./heap.ts";
import { createLogDestination, type LogDestination } from "./log-destination.ts";
import type { RuntimeArguments } from "./runtime-arguments.ts";
import type { ServerArguments } from "./server-flags.ts";

type ServeOptions = Pick<
  ServerArguments,
  "logLevel" | "drainMs" | "processes" | "host" | "port" | "adminPort" | "tracing"
>;

/** The ways in which a command serves. */
interface Served {
  /** Starts the program in this process. A member of a pod opens the port that its supervisor names. */
  readonly start: (
    own: { readonly log: Logger; readonly port: number; readonly member?: PodMember },
    stopping: AbortSignal,
  ) => Promise<Program | undefined>;
  /** Acquires what a pod of several processes has once. @throws StartError */
  readonly open: (log: Logger, shutdown: Shutdown) => Promise<PodPlan>;
}

export interface RunArguments extends ServerArguments {
  readonly folder: string;
  readonly dataFolder: string;
  readonly nats?: NatsAccess;
  readonly natsServer?: string;
}

/**
 * Starts a program, writes one line of JSON to standard output when it is ready, and drains after SIGTERM or SIGINT,
 * also before it is ready. A second signal ends the process at once. With several processes, this one supervises them.
 * @throws StartError
 */
export async function serve(options: ServeOptions, served: Served): Promise<ExitName> {
  // Logs go to standard error, so that standard output holds only the ready line.
  const destination = createLogDestination(options.processes > 1);
  const { hooks, flush } = limitRepeatedLines();
  const log = pino({ level: options.logLevel, timestamp: pino.stdTimeFunctions.isoTime, hooks }, destination);
  // Pending work is in JetStream and survives the end.
  endOnFatal((err) => log.fatal({ err }, "fatal"), exitCodes.failed);
  try {
    if (cluster.isWorker) return await serveAsMember(log, served);
    return await runUntilSignal({ log, destination, drainMs: options.drainMs }, starterOf(options, served));
  } finally {
    flush();
    await destination.flushed();
  }
}

type Start = (log: Logger, stopping: AbortSignal) => Promise<Program | undefined>;

/** Loads the supervisor only for several processes. A supervisor does not load the program. */
function starterOf(options: ServeOptions, { start, open }: Served): Start {
  const { processes, port } = options;
  if (processes === 1) return (log, stopping) => start({ log, port }, stopping);
  return async (log, stopping) => {
    const { startPod } = await import("../../runtime/processes/start-pod.ts");
    return startPod({ ...options, log, open: (shutdown) => open(log, shutdown) }, stopping);
  };
}

/** The supervisor reports the error of a failed start. */
async function serveAsMember(log: Logger, { start }: Served): Promise<ExitName> {
  const { runMember } = await import("../../runtime/processes/run-member.ts");
  const error = await runMember(log, (member, port, stopping) => start({ log, port, member }, stopping));
  if (error === undefined) return "done";
  return error instanceof StartError ? error.fault : "failed";
}

interface Serving {
  readonly log: Logger;
  readonly destination: LogDestination;
  readonly drainMs: number;
}

async function runUntilSignal({ log, destination, drainMs }: Serving, start: Start): Promise<ExitName> {
  const stopping = new AbortController();
  const signalled = firstSignal(log, exitCodes.interrupted).then((signal) => {
    stopping.abort();
    return signal;
  });
  const program = await start(log, stopping.signal);
  // A reader of the ready line finds the log of the start complete.
  await destination.flushed();
  if (program !== undefined) process.stdout.write(`${JSON.stringify(readyLine(program))}\n`);
  // Node writes the compiled code when a process ends by itself. A killed process would leave none to its restart.
  flushCompileCache();
  const signal = await signalled;
  log.info({ signal, drainMs }, "draining");
  await program?.stop(drainMs);
  log.info("stopped");
  return "done";
}

function readyLine({ url, adminUrl, natsUrl, configHash, processes }: Program): object {
  return {
    ready: true,
    url,
    admin_url: adminUrl,
    nats_url: natsUrl,
    pid: process.pid,
    processes,
    config_hash: configHash,
  };
}

/** `heliograph runtime`: one pod of several. @throws StartError */
export async function servePod(args: RuntimeArguments): Promise<ExitName> {
  return serve(args, {
    start: (own, stopping) =>
      startSized(args, own.log, async (caches) => {
        const { startRuntime } = await import("../../runtime/main.ts");
        return startRuntime({ ...args, ...own, caches }, stopping);
      }),
    open: async (log, shutdown) => {
      const { openRuntimePod } = await import("../../runtime/open-pod.ts");
      return openRuntimePod({ ...args, log }, shutdown);
    },
  });
}

/** `heliograph run`: the whole product on one folder. @throws StartError */
export async function serveStandalone(args: RunArguments): Promise<ExitName> {
  return serve(args, {
    start: (own, stopping) =>
      startSized(args, own.log, async (caches) => {
        const { startStandalone } = await import("../../runtime/standalone.ts");
        return startStandalone({ ...args, ...own, caches }, stopping);
      }),
    open: async (log, shutdown) => {
      const { openStandalonePod } = await import("../../runtime/open-pod.ts");
      return openStandalonePod({ ...args, log }, shutdown);
    },
  });
}
