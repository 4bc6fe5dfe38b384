import { exitCodeLines, flagLines } from "../command-line/help-lines.ts";
import { exitCodes } from "./exit-codes.ts";
import { flags } from "./flags.ts";

/** Help of the program. */
export function programHelp(): string {
  return [
    "Usage: heliograph-operator [FLAGS]",
    "",
    "Compiles WebhookPartner, MetricCatalog and QueryClassQuota into the configuration that runtimes apply, and " +
      "writes the result to their",
    "status. Any number of replicas may run; one leads, the others are ready to.",
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
