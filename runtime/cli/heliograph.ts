#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { StartError } from "../program/start-error.ts";
import { version } from "../version.ts";
import { readArguments, type Invocation } from "./arguments.ts";
import { devToken } from "./dev-token.ts";
import { exitCodes, type ExitName } from "./exit-codes.ts";
import { UsageError } from "./given.ts";
import { countBytesOutsideLikeInside } from "./heap.ts";
import { commandHelp, programHelp } from "./help.ts";
import { validate } from "./validate.ts";

async function dispatch(invocation: Invocation): Promise<ExitName> {
  switch (invocation.command) {
    case "run": {
      countBytesOutsideLikeInside();
      // Loaded only here: the other commands would wait for servers and clients that they never use.
      const { run } = await import("./run.ts");
      return run(invocation);
    }
    case "runtime": {
      countBytesOutsideLikeInside();
      const { runtime } = await import("./runtime.ts");
      return runtime(invocation);
    }
    case "validate":
      return validate(invocation.folder);
    case "dev-token":
      return devToken(invocation);
    case "version":
      return print(version);
    case "help":
      return print(invocation.about === undefined ? programHelp() : commandHelp(invocation.about));
  }
}

async function print(text: string): Promise<ExitName> {
  process.stdout.write(`${text.trimEnd()}\n`);
  return "done";
}

async function main(): Promise<ExitName> {
  // A restart is what a producer waits for. Without a writable temporary folder nothing is kept, and nothing fails.
  enableCompileCache();
  try {
    return await dispatch(readArguments(process.argv.slice(2), process.env));
  } catch (error) {
    const sentence = error instanceof Error ? error.message : String(error);
    process.stderr.write(`heliograph: ${sentence}${/[.!?]$/u.test(sentence) ? "" : "."}\n`);
    if (error instanceof UsageError) return "usage";
    return error instanceof StartError ? error.fault : "failed";
  }
}

// A reader that went away (`heliograph … | head`) is no failure of ours.
process.stdout.on("error", () => undefined);
process.exitCode = exitCodes[await main()].code;
// Nothing that is left may keep a finished program alive; both streams are flushed before.
process.stdout.write("", () => process.stderr.write("", () => process.exit()));
