import { pino, type Logger } from "pino";
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
  endOnFatal(log);
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
  const signalled = firstSignal(log).then((signal) => {
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

function firstSignal(log: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let count = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      count += 1;
      if (count === 1) resolve(signal);
      else {
        log.warn({ signal }, "stopped without a drain");
        process.exit(exitCodes.interrupted.code);
      }
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

/** An uncaught error leaves the process in an unknown state. Pending work is in JetStream and survives the end. */
function endOnFatal(log: Logger): void {
  const end = (err: unknown): void => {
    log.fatal({ err }, "fatal");
    process.exit(exitCodes.failed.code);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
