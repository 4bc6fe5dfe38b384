import type { RuntimeArguments } from "./runtime-arguments.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import { startSized } from "./heap.ts";
import { serve } from "./serve.ts";

/** `heliograph runtime`: one pod of several. @throws StartError */
export async function servePod(args: RuntimeArguments): Promise<ExitName> {
  return serve(args, {
    start: (own, stopping) =>
      startSized(args, own.log, async (caches) => {
        const { startRuntime } = await import("../../runtime/main.ts");
        return startRuntime({ ...args, ...own, caches }, stopping);
      }),
    open: async (log, shutdown) => {
      const { openRuntimePod } = await import("../../runtime/open-pod.ts");
      return openRuntimePod({ ...args, log }, shutdown);
    },
  });
}
