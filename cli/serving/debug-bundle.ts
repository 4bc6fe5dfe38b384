import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import type { Command } from "../command-line/command.ts";
import { dataFlag, natsAccessOfFlags, natsFlags } from "./server-flags.ts";
import type { DebugArguments } from "./write-bundle.ts";

const debugFlags = [
  {
    name: "admin",
    value: "URL",
    help: "An admin port to read; its `/configz` answers on the same machine only.",
    multiple: true,
    standard: "http://127.0.0.1:9090",
  },
  { name: "nats", value: "URL", help: "NATS whose streams and consumers to describe; without it none." },
  ...natsFlags,
  {
    ...dataFlag,
    help: "Data folder of the `run` or `up` whose NATS is named; it has the password that the ready line leaves out.",
  },
  {
    name: "log",
    value: "FILE",
    help: "Log lines of the product, of which the last MiB is kept; `-` reads them.",
    multiple: true,
  },
  {
    name: "output",
    value: "FILE",
    help: "The archive; `-` writes it to the standard output.",
    standard: "heliograph-debug.tgz",
  },
] as const satisfies readonly Flag[];

/** `heliograph debug bundle` */
export const debugBundleCommand: Command<DebugArguments> = {
  summary: "Writes an archive for the report of a problem, without secrets, event bodies and personal data.",
  flags: debugFlags,
  inCluster: "run it in a pod (docs/reference/cli.md#heliograph-debug-bundle)",
  read: debugArguments,
  run: async (args, { environment }) => (await import("./write-bundle.ts")).writeBundle(args, environment),
};

function debugArguments(given: Given): DebugArguments {
  const named = given.list("admin");
  const admins = named.length === 0 ? [given.text("admin")] : named;
  const odd = admins.find((admin) => !["http:", "https:"].includes(URL.parse(admin)?.protocol ?? ""));
  if (odd !== undefined) throw new UsageError("--admin is a URL such as http://127.0.0.1:9090.");
  const url = given.optional("nats");
  const hasNats = url !== undefined && url !== "embedded";
  return {
    admins: admins.map((admin) => admin.replace(/\/+$/u, "")),
    logs: given.list("log"),
    output: given.text("output"),
    dataFolder: given.text("data"),
    ...(hasNats ? { nats: natsAccessOfFlags(url, given) } : {}),
  };
}
