import { pino, type Logger } from "pino";
import { startStandalone, type Standalone } from "../standalone.ts";
import type { RunArguments } from "./arguments.ts";
import { exitCodes, type ExitName } from "./exit-codes.ts";

const standardError = 2;

/**
 * `heliograph run`: starts everything, says so in one line of JSON on the standard output, and drains after SIGTERM or
 * SIGINT. A second signal ends the process at once.
 * @throws StartError
 */
export async function run(args: RunArguments): Promise<ExitName> {
  // Logs go to the standard error, so that the standard output holds the one line for whoever started the program.
  const log = pino({ level: args.logLevel, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(standardError));
  endOnFatal(log);
  const signalled = firstSignal(log);
  const program = await startStandalone({ ...args, log });
  process.stdout.write(`${JSON.stringify(readyLine(program))}\n`);
  const signal = await signalled;
  log.info({ signal, drainMs: args.drainMs }, "draining");
  await program.stop(args.drainMs);
  log.info("stopped");
  return "done";
}

function readyLine({ url, adminUrl, natsUrl, configHash }: Standalone): object {
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
        log.warn({ signal }, "ended without a drain");
        process.exit(exitCodes.interrupted.code);
      }
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

/** What nobody caught leaves the process in an unknown state; what is pending is in JetStream and survives its end. */
function endOnFatal(log: Logger): void {
  const end = (err: unknown): void => {
    log.fatal({ err }, "fatal");
    process.exit(exitCodes.failed.code);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
