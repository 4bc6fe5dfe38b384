import { pino, type Logger } from "pino";
import { endOnFatal, firstSignal } from "../../command-line/end-process.ts";
import type { Program } from "../program/program.ts";
import { exitCodes, type ExitName } from "./exit-codes.ts";
import { createLogDestination, type LogDestination } from "./log-destination.ts";

interface ServeOptions {
  readonly logLevel: string;
  readonly drainMs: number;
}

/**
 * Starts a program, writes one line of JSON to standard output when it is ready, and drains after SIGTERM or SIGINT,
 * also before it is ready. A second signal ends the process at once.
 * @throws StartError
 */
export async function serve(
  { logLevel, drainMs }: ServeOptions,
  start: (log: Logger, stopping: AbortSignal) => Promise<Program | undefined>,
): Promise<ExitName> {
  // Logs go to standard error, so that standard output holds only the ready line.
  const destination = createLogDestination();
  const log = pino({ level: logLevel, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  // Pending work is in JetStream and survives the end.
  endOnFatal((err) => log.fatal({ err }, "fatal"), exitCodes.failed);
  try {
    return await runUntilSignal({ log, destination, drainMs }, start);
  } finally {
    await destination.flushed();
  }
}

interface Serving {
  readonly log: Logger;
  readonly destination: LogDestination;
  readonly drainMs: number;
}

async function runUntilSignal(
  { log, destination, drainMs }: Serving,
  start: (log: Logger, stopping: AbortSignal) => Promise<Program | undefined>,
): Promise<ExitName> {
  const stopping = new AbortController();
  const signalled = firstSignal(log, exitCodes.interrupted).then((signal) => {
    stopping.abort();
    return signal;
  });
  const program = await start(log, stopping.signal);
  // A reader of the ready line finds the log of the start complete.
  await destination.flushed();
  if (program !== undefined) process.stdout.write(`${JSON.stringify(readyLine(program))}\n`);
  const signal = await signalled;
  log.info({ signal, drainMs }, "draining");
  await program?.stop(drainMs);
  log.info("stopped");
  return "done";
}

function readyLine({ url, adminUrl, natsUrl, configHash }: Program): object {
  return {
    ready: true,
    url,
    admin_url: adminUrl,
    nats_url: natsUrl,
    pid: process.pid,
    config_hash: configHash,
  };
}
