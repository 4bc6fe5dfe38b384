#!/usr/bin/env node
import { setFlagsFromString } from "node:v8";
import { print, runProgram } from "../command-line/end-process.ts";
import { StartError } from "../../operator/start-error.ts";
import { version } from "../../operator/version.ts";
import { type Invocation, readArguments } from "./arguments.ts";
import { exitCodes, type ExitName, programHelp } from "./help.ts";

/** Growth of the heap over its use after the last collection. */
const heapGrowingPercent = 15;

async function dispatch(invocation: Invocation): Promise<ExitName> {
  switch (invocation.command) {
    case "run": {
      // Most objects of a compilation are garbage at once. A heap that doubles before a collection would hold each
      // configuration twice.
      setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
      // Loaded only here: help and version need no clients.
      const { run } = await import("./run.ts");
      return run(invocation);
    }
    case "version":
      return print(version);
    case "help":
      return print(programHelp());
  }
}

await runProgram(
  "heliograph-operator",
  exitCodes,
  async () => dispatch(readArguments(process.argv.slice(2), process.env)),
  (error) => (error instanceof StartError ? error.fault : undefined),
);
