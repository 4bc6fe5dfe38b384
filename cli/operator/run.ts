// The command line of the operator: flags, help, exit codes. The start of its parts is in `operator/main.ts`.
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { pino } from "pino";
import { endOnFatal, firstSignal } from "../command-line/end-process.ts";
import { limitRepeatedLines } from "../command-line/repeated-lines.ts";
import { openClusterAccess } from "../../kube/client/cluster-access.ts";
import { describeError } from "../../kube/client/kube-error.ts";
import { startOperator } from "../../operator/main.ts";
import { startStep } from "../../operator/start-error.ts";
import type { Arguments } from "./arguments.ts";
import { exitCodes, type ExitName } from "./help.ts";

const standardError = 2;
const identityBytes = 4;

/**
 * Runs a replica. When it is ready, it writes one line of JSON to the standard output. After SIGTERM or SIGINT it hands
 * the lead over. A second signal ends the process at once.
 *
 * @throws StartError
 */
export async function run(args: Arguments): Promise<ExitName> {
  // Logs go to the standard error: the standard output holds only the line for the calling program.
  const { hooks, flush } = limitRepeatedLines();
  const { isoTime: timestamp } = pino.stdTimeFunctions;
  const log = pino({ level: args.logLevel, timestamp, hooks }, pino.destination(standardError));
  // Another replica takes the lead.
  endOnFatal(
    (error) =>
      log.fatal({ error: describeError(error), stack: error instanceof Error ? error.stack : undefined }, "fatal"),
    exitCodes.failed,
  );
  const signalled = firstSignal(log, exitCodes.interrupted);
  const source = {
    ...(args.kubeconfig === undefined ? {} : { path: args.kubeconfig }),
    ...(args.context === undefined ? {} : { context: args.context }),
  };
  const access = await startStep("kubeconfig", "the API server cannot be used", () => openClusterAccess(source));
  const namespace = args.namespace ?? access.namespace ?? "default";
  const identity = args.identity ?? `${hostname()}_${randomBytes(identityBytes).toString("hex")}`;
  const { rules, ...others } = args;
  const operator = await startOperator({
    ...others,
    access,
    namespace,
    watched: args.watched ?? [namespace],
    identity,
    log,
    ...(rules === undefined ? {} : { rules: (await import("./owned-rules.ts")).ownedRules(rules) }),
  });
  log.info({ namespace, watched: args.watched ?? [namespace], identity, url: operator.metricsUrl }, "started");
  void operator.ready.then((ready) => {
    if (ready) {
      process.stdout.write(
        `${JSON.stringify({ ready, metrics_url: operator.metricsUrl, pid: process.pid, identity })}\n`,
      );
    }
  });
  const signal = await signalled;
  log.info({ signal }, "shutdown started");
  await operator.stop(args.drainMs);
  flush();
  log.info("shutdown finished");
  return "done";
}
