import { flushCompileCache } from "node:module";
import { getHeapStatistics } from "node:v8";
import { type Logger, pino } from "pino";
import type { CacheBytes } from "../../limits/memory-plan.ts";
import type { ConfigPlace, NatsPlace } from "../../runtime/program/start-runtime.ts";
import type { NatsAccess } from "../../runtime/nats/connection/nats-access.ts";
import type { Program } from "../../runtime/program/program.ts";
import { exitCodes, type ExitName } from "../command-line/command.ts";
import { endOnFatal, firstSignal } from "../command-line/end-process.ts";
import { limitRepeatedLines } from "../command-line/repeated-lines.ts";
import { memoryPlanOf, trimWhenIdle } from "./heap.ts";
import { createLineTime, createLogDestination, type LogDestination } from "./log-destination.ts";
import type { ServerArguments } from "./server-flags.ts";

export interface RunArguments extends ServerArguments {
  readonly folder: string;
  readonly dataFolder: string;
  readonly nats?: NatsAccess;
  readonly natsServer?: string;
}

export interface RuntimeArguments extends ServerArguments {
  readonly config: ConfigPlace;
  readonly nats: NatsPlace;
  readonly podName: string;
  readonly unreadyMs: number;
}

interface Own {
  readonly log: Logger;
  readonly caches: CacheBytes;
}

type Start = (own: Own, stopping: AbortSignal) => Promise<Program | undefined>;

/** `heliograph runtime`: one pod of several. @throws StartError */
export async function servePod(args: RuntimeArguments): Promise<ExitName> {
  return serve(args, async (own, stopping) => {
    const { startRuntime } = await import("../../runtime/program/start-runtime.ts");
    return startRuntime({ ...args, ...own }, stopping);
  });
}

/** `heliograph run`: the whole product on one folder. @throws StartError */
export async function serveStandalone(args: RunArguments): Promise<ExitName> {
  return serve(args, async (own, stopping) => {
    const { startStandalone } = await import("../../runtime/program/start-standalone.ts");
    return startStandalone({ ...args, ...own }, stopping);
  });
}

const processesDeprecated =
  "--processes, HELIOGRAPH_PROCESSES and runtime.processes are deprecated and have no effect: the program is one " +
  "process; remove the setting before the next release, and run more pods or programs for more throughput";

/**
 * Starts a program, writes one line of JSON to standard output when it is ready, and drains after SIGTERM or SIGINT,
 * also before it is ready. A second signal ends the process at once.
 * @throws StartError
 */
async function serve(options: ServerArguments, start: Start): Promise<ExitName> {
  // Logs go to standard error, so that standard output holds only the ready line.
  const destination = createLogDestination();
  const { hooks, flush } = limitRepeatedLines();
  const log = pino({ level: options.logLevel, timestamp: createLineTime(), hooks }, destination);
  // Pending work is in JetStream and survives the end.
  endOnFatal((err) => log.fatal({ err }, "fatal"), exitCodes.failed);
  if (options.processes !== undefined) log.warn({ processes: options.processes }, processesDeprecated);
  try {
    return await runUntilSignal(options, { log, caches: memoryPlanOf(options).caches }, destination, start);
  } finally {
    flush();
    await destination.flushed();
  }
}

async function runUntilSignal(
  { drainMs }: ServerArguments,
  own: Own,
  destination: LogDestination,
  start: Start,
): Promise<ExitName> {
  const { log, caches } = own;
  const stopping = new AbortController();
  const signalled = firstSignal(log, exitCodes.interrupted).then((signal) => {
    stopping.abort();
    return signal;
  });
  const program = await start(own, stopping.signal);
  log.info({ heapBytesMax: getHeapStatistics().heap_size_limit, cacheBytesMax: caches }, "memory sized");
  // A reader of the ready line finds the log of the start complete.
  await destination.flushed();
  if (program !== undefined) process.stdout.write(`${JSON.stringify(readyLine(program))}\n`);
  // Node writes the compiled code when a process ends by itself. A killed process would leave none to its restart.
  flushCompileCache();
  const stopTrimming = trimWhenIdle();
  const signal = await signalled;
  stopTrimming();
  log.info({ signal, drainMs }, "draining");
  await program?.stop(drainMs);
  log.info("stopped");
  return "done";
}

function readyLine({ url, adminUrl, natsUrl, configHash }: Program): object {
  return { ready: true, url, admin_url: adminUrl, nats_url: natsUrl, pid: process.pid, config_hash: configHash };
}
