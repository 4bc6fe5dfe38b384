import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import type { Command } from "../command-line/command.ts";
import { dataFlag, natsAccessOfFlags, natsFlags } from "./server-flags.ts";
import type { DebugArguments } from "./write-bundle.ts";

const debugFlags = [
  {
    name: "admin",
    value: "URL",
    help: "Admin URL to read; its `/configz` is only available on the same machine.",
    multiple: true,
    standard: "http://127.0.0.1:9090",
  },
  { name: "nats", value: "URL", help: "NATS URL whose streams and consumers are included; none by default." },
  ...natsFlags,
  {
    ...dataFlag,
    help: "Data folder of the `run` or `up` that uses this NATS; it contains the password.",
  },
  {
    name: "log",
    value: "FILE",
    help: "Log file of Heliograph, of which the last MiB is included; `-` reads standard input.",
    multiple: true,
  },
  {
    name: "output",
    value: "FILE",
    help: "Archive to write; `-` writes to standard output.",
    standard: "heliograph-debug.tgz",
  },
] as const satisfies readonly Flag[];

/** `heliograph debug bundle` */
export const debugBundleCommand: Command<DebugArguments> = {
  summary: "Writes an archive for problem reports, without secrets, event bodies or personal data.",
  flags: debugFlags,
  inCluster: "run it in a pod (docs/reference/cli.md#heliograph-debug-bundle)",
  read: debugArguments,
  run: async (args, { environment }) => (await import("./write-bundle.ts")).writeBundle(args, environment),
};

function debugArguments(given: Given): DebugArguments {
  const named = given.list("admin");
  const admins = named.length === 0 ? [given.text("admin")] : named;
  const odd = admins.find((admin) => !["http:", "https:"].includes(URL.parse(admin)?.protocol ?? ""));
  if (odd !== undefined) throw new UsageError("--admin must be a URL such as http://127.0.0.1:9090.");
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
