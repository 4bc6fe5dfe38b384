import { startRuntime } from "../main.ts";
import type { RuntimeArguments } from "./runtime-arguments.ts";
import type { ExitName } from "./exit-codes.ts";
import { serve } from "./serve.ts";

/** `heliograph runtime`: one pod of several. @throws StartError */
export async function runtime(args: RuntimeArguments): Promise<ExitName> {
  return serve(args, (log, stopping) => startRuntime({ ...args, log }, stopping));
}
