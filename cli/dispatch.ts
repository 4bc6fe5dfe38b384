import { runProgram } from "./command-line/end-process.ts";
import { StartError } from "../runtime/program/start-error.ts";
import { readArguments } from "./arguments.ts";
import { CommandError } from "./command-line/command-error.ts";
import { exitCodes, type ExitName } from "./command-line/exit-codes.ts";

/** Runs a command and ends the process with its exit code. @param argv without the program's own name */
export function dispatch(argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  return runProgram("heliograph", exitCodes, () => runArguments(argv), exitOf);
}

async function runArguments(argv: readonly string[]): Promise<ExitName> {
  const invocation = await readArguments(argv, process.env);
  return invocation.run();
}

function exitOf(error: unknown): ExitName | undefined {
  if (error instanceof CommandError) return error.exit;
  return error instanceof StartError ? error.fault : undefined;
}
