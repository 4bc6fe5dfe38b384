import type { Logger } from "pino";
import { columns, UsageError } from "./flags.ts";
import { plain } from "./terminal.ts";

/** One way in which a program ends. */
export interface ExitRow {
  readonly code: number;
  readonly meaning: string;
}

/**
 * Runs a program and ends the process with its exit code. An error is one sentence on standard error.
 * @param faultOf name of the exit code of an error; undefined for `failed`
 */
export async function runProgram<Name extends string>(
  name: string,
  exitCodes: Readonly<Record<Name | "usage" | "failed", ExitRow>>,
  run: () => Promise<Name>,
  faultOf: (error: unknown) => Name | undefined,
): Promise<void> {
  // A reader that closes standard output early (`… --help | head`) is no failure.
  process.stdout.on("error", () => undefined);
  const end = await run().catch((error: unknown) => {
    const sentence = plain(error instanceof Error ? error.message : String(error)).trimEnd();
    process.stderr.write(`${name}: ${sentence}${/[.!?]$/u.test(sentence) ? "" : "."}\n`);
    return error instanceof UsageError ? "usage" : (faultOf(error) ?? "failed");
  });
  process.exitCode = exitCodes[end].code;
  // Open handles must not keep a finished program alive. Both streams are flushed first.
  process.stdout.write("", () => process.stderr.write("", () => process.exit()));
}

/** Prints a text as the whole output of a program. */
export function print(text: string): "done" {
  process.stdout.write(`${text.trimEnd()}\n`);
  return "done";
}

/** The section of exit codes. */
export function exitCodeLines(exitCodes: Readonly<Record<string, ExitRow>>): readonly string[] {
  return ["Exit codes:", ...columns(Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]))];
}

/** Resolves with the first SIGTERM or SIGINT. The second one ends the process at once with this exit code. */
export function firstSignal(log: Logger, interrupted: ExitRow): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let count = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      count += 1;
      if (count === 1) resolve(signal);
      else {
        log.warn({ signal }, "shutdown aborted by a second signal");
        process.exit(interrupted.code);
      }
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

/** Ends the process after an uncaught error, which leaves it in an unknown state. @param report logs the error */
export function endOnFatal(report: (error: unknown) => void, failed: ExitRow): void {
  const end = (error: unknown): void => {
    report(error);
    process.exit(failed.code);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
