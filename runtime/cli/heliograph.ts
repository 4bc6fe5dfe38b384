#!/usr/bin/env node
// The commands of `heliograph`. The parts for both programs are in `command-line/`.
import { enableCompileCache } from "node:module";
import { print, runProgram } from "../../command-line/end-process.ts";
import { StartError } from "../program/start-error.ts";
import { version } from "../version.ts";
import { readArguments, type Invocation } from "./arguments.ts";
import { devToken } from "./dev-token.ts";
import { exitCodes, type ExitName } from "./exit-codes.ts";
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

await runProgram(
  "heliograph",
  exitCodes,
  async () => {
    // Saves compiled code for faster restarts. Without a writable temporary folder it has no effect.
    enableCompileCache();
    return dispatch(readArguments(process.argv.slice(2), process.env));
  },
  (error) => (error instanceof StartError ? error.fault : undefined),
);
