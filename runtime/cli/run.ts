import { startStandalone } from "../standalone.ts";
import type { RunArguments } from "./arguments.ts";
import type { ExitName } from "./exit-codes.ts";
import { serve } from "./serve.ts";

/** `heliograph run`: the whole product on one folder. @throws StartError */
export async function run(args: RunArguments): Promise<ExitName> {
  return serve(args, (log, stopping) => startStandalone({ ...args, log }, stopping));
}
