import { type Given, UsageError } from "../command-line/flags.ts";
import { outputFlag, outputFormatOf } from "../api/output.ts";
import type { Command } from "../command-line/command.ts";
import { kubeconfigFlags, kubeconfigOf } from "../api/cluster-flags.ts";
import type { ResourcesArguments } from "./list-resources.ts";

/** `heliograph resources` */
export const resourcesCommand: Command<ResourcesArguments> = {
  summary:
    "Lists the partners, catalogs and quotas of a cluster and why they are not ready; exits with 1 if any is not.",
  flags: [
    ...kubeconfigFlags,
    { name: "all-namespaces", short: "A", help: "Lists resources in all namespaces." },
    outputFlag,
  ],
  read: resourcesArguments,
  run: async (args, { environment }) => (await import("./list-resources.ts")).listResources(args, environment),
};

function resourcesArguments(given: Given): ResourcesArguments {
  const cluster = kubeconfigOf(given);
  const isEveryNamespace = given.isSet("all-namespaces");
  if (isEveryNamespace && cluster.namespace !== undefined)
    throw new UsageError("--namespace and --all-namespaces are mutually exclusive.");
  return { cluster, isEveryNamespace, format: outputFormatOf(given) };
}
