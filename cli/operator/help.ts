import type { StartFault } from "../../operator/start-error.ts";
import { exitCodeLines, type ExitRow } from "../command-line/end-process.ts";
import { flagLines } from "../command-line/flags.ts";
import { flags } from "./flags.ts";

/** All exit codes of the program. `docs/reference/operator.md` has the same table; a test compares them. */
export const exitCodes = {
  done: { code: 0, meaning: "A signal stopped the program, and the Lease was released." },
  usage: { code: 2, meaning: "The command line or an environment variable is invalid." },
  kubeconfig: { code: 3, meaning: "The API server cannot be used: no valid kubeconfig or service account was found." },
  policy: { code: 4, meaning: "The policy cannot be read or is invalid." },
  port: { code: 7, meaning: "The port for probes and metrics cannot be opened." },
  failed: { code: 70, meaning: "Unexpected failure; see the log for the cause." },
  interrupted: { code: 130, meaning: "A second signal stopped the program immediately." },
} as const satisfies Readonly<Record<string, ExitRow>> & Readonly<Record<StartFault, ExitRow>>;

export type ExitName = keyof typeof exitCodes;

/** Help of the program. */
export function programHelp(): string {
  return [
    "Usage: heliograph-operator [FLAGS]",
    "",
    "Compiles WebhookPartner, MetricCatalog and QueryClassQuota into the configuration that runtimes apply, and " +
      "writes the result to their",
    "status. Any number of replicas may run; one leads, the others stand by.",
    "",
    ...flagLines(flags, [
      ["--version", "Prints the version."],
      ["--help", "Prints this help."],
    ]),
    "",
    ...exitCodeLines(exitCodes),
    "",
  ].join("\n");
}
