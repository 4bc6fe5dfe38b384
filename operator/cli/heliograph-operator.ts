#!/usr/bin/env node
import { setFlagsFromString } from "node:v8";
import { StartError } from "../start-error.ts";
import { version } from "../version.ts";
import { readArguments, UsageError, type Invocation } from "./arguments.ts";
import { exitCodes, type ExitName } from "./exit-codes.ts";
import { programHelp } from "./help.ts";

/** How much the heap may grow over what was in use after the last sweep. */
const heapGrowingPercent = 15;

async function dispatch(invocation: Invocation): Promise<ExitName> {
  switch (invocation.command) {
    case "run": {
      // Most of what a compilation makes is garbage at once: a heap that doubles before it is swept would hold two of
      // everything.
      setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
      // Loaded only here: help and version would wait for clients that they never use.
      const { run } = await import("./run.ts");
      return run(invocation);
    }
    case "version":
      return print(version);
    case "help":
      return print(programHelp());
  }
}

function print(text: string): ExitName {
  process.stdout.write(`${text.trimEnd()}\n`);
  return "done";
}

async function main(): Promise<ExitName> {
  try {
    return await dispatch(readArguments(process.argv.slice(2), process.env));
  } catch (error) {
    const sentence = error instanceof Error ? error.message : String(error);
    process.stderr.write(`heliograph-operator: ${sentence}${/[.!?]$/u.test(sentence) ? "" : "."}\n`);
    if (error instanceof UsageError) return "usage";
    return error instanceof StartError ? error.fault : "failed";
  }
}

// A reader that went away (`heliograph-operator --help | head`) is no failure of ours.
process.stdout.on("error", () => undefined);
process.exitCode = exitCodes[await main()].code;
// Nothing that is left may keep a finished program alive; both streams are flushed before.
process.stdout.write("", () => process.stderr.write("", () => process.exit()));
