import type { Flag, Given } from "../command-line/flags.ts";
import type { Command } from "../command-line/command.ts";
import type { MigrateArguments } from "./migrate-streams.ts";

const natsMigrateFlags = [
  { name: "release", value: "NAME", help: "Helm release whose streams to copy.", standard: "heliograph" },
  {
    name: "namespace",
    value: "NAMESPACE",
    help: "Namespace of the release; defaults to the namespace of the kubeconfig's context.",
  },
  { name: "kubeconfig", value: "FILE", help: "Kubeconfig file; defaults to KUBECONFIG." },
] as const satisfies readonly Flag[];

/** `heliograph nats migrate` */
export const natsMigrateCommand: Command<MigrateArguments> = {
  summary:
    "Copies all streams of a release to its new NATS servers and compares the copies; see docs/how-to/install.md.",
  flags: natsMigrateFlags,
  read: migrateArguments,
  run: async (args) => (await import("./migrate-streams.ts")).migrateStreams(args),
};

function migrateArguments(given: Given): MigrateArguments {
  const namespace = given.optional("namespace");
  const kubeconfig = given.optional("kubeconfig");
  return {
    release: given.text("release"),
    ...(namespace === undefined ? {} : { namespace }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  };
}
