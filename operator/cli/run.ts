import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type Logger, pino } from "pino";
import { openClusterAccess } from "../../kube/client/cluster-access.ts";
import { describeError } from "../../kube/client/kube-error.ts";
import { startOperator } from "../main.ts";
import { startStep } from "../start-error.ts";
import type { Arguments } from "./arguments.ts";
import { exitCodes, type ExitName } from "./exit-codes.ts";

const standardError = 2;
const identityBytes = 4;

/**
 * Runs a replica, says so in one line of JSON on the standard output when it is ready, and hands the lead over after
 * SIGTERM or SIGINT. A second signal ends the process at once.
 *
 * @throws StartError
 */
export async function run(args: Arguments): Promise<ExitName> {
  // Logs go to the standard error, so that the standard output holds the one line for whoever started the program.
  const log = pino({ level: args.logLevel, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(standardError));
  endOnFatal(log);
  const signalled = firstSignal(log);
  const source = {
    ...(args.kubeconfig === undefined ? {} : { path: args.kubeconfig }),
    ...(args.context === undefined ? {} : { context: args.context }),
  };
  const access = await startStep("kubeconfig", "the API server cannot be used", () => openClusterAccess(source));
  const namespace = args.namespace ?? access.namespace ?? "default";
  const identity = args.identity ?? `${hostname()}_${randomBytes(identityBytes).toString("hex")}`;
  const operator = await startOperator({
    ...args,
    access,
    namespace,
    watched: args.watched ?? [namespace],
    identity,
    log,
  });
  log.info({ namespace, watched: args.watched ?? [namespace], identity, url: operator.metricsUrl }, "started");
  void operator.ready.then((ready) => {
    if (ready)
      process.stdout.write(
        `${JSON.stringify({ ready, metrics_url: operator.metricsUrl, pid: process.pid, identity })}\n`,
      );
  });
  const signal = await signalled;
  log.info({ signal }, "shutdown started");
  await operator.stop(args.drainMs);
  log.info("shutdown finished");
  return "done";
}

function firstSignal(log: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let count = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      count += 1;
      if (count === 1) resolve(signal);
      else {
        log.warn({ signal }, "shutdown aborted by a second signal");
        process.exit(exitCodes.interrupted.code);
      }
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

/** What nobody caught leaves the process in an unknown state; another replica takes the lead. */
function endOnFatal(log: Logger): void {
  const end = (error: unknown): void => {
    log.fatal({ error: describeError(error), stack: error instanceof Error ? error.stack : undefined }, "fatal");
    process.exit(exitCodes.failed.code);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
