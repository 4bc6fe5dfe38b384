import type { ExitName } from "../command-line/exit-codes.ts";
import type { NatsAccess } from "../../runtime/nats/connection/nats-access.ts";
import { startSized } from "./heap.ts";
import { serve } from "./serve.ts";
import type { ServerArguments } from "./server-arguments.ts";

export interface RunArguments extends ServerArguments {
  readonly folder: string;
  readonly dataFolder: string;
  readonly nats?: NatsAccess;
  readonly natsServer?: string;
}

/** `heliograph run`: the whole product on one folder. @throws StartError */
export async function serveStandalone(args: RunArguments): Promise<ExitName> {
  return serve(args, {
    start: (own, stopping) =>
      startSized(args, own.log, async (caches) => {
        const { startStandalone } = await import("../../runtime/standalone.ts");
        return startStandalone({ ...args, ...own, caches }, stopping);
      }),
    open: async (log, shutdown) => {
      const { openStandalonePod } = await import("../../runtime/open-pod.ts");
      return openStandalonePod({ ...args, log }, shutdown);
    },
  });
}
