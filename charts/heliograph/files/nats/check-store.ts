import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The kind of installation that writes a store. */
type Kind = "single" | "cluster";

const words: Readonly<Record<Kind, string>> = {
  single: "a single server (nats.replicas=1)",
  cluster: "a cluster (nats.replicas=3)",
};

/**
 * The kind that wrote the files of JetStream in a folder. A server of a cluster keeps the cluster's log beside them.
 */
function writerOf(folder: string): Kind | undefined {
  const accounts = existsSync(folder) ? readdirSync(folder) : [];
  const holds = (...path: readonly string[]): boolean =>
    accounts.some((account) => existsSync(join(folder, account, ...path)));
  if (holds("_js_", "_meta_")) return "cluster";
  return holds("streams") ? "single" : undefined;
}

// Runs before each start of NATS, as: check-store.ts FOLDER single|cluster. Ends with 1 when a server of that kind
// would delete the stored files instead of taking them over.
const [, , folder = "", kind = ""] = process.argv;
const writer = writerOf(folder);
if (writer !== undefined && writer !== kind) {
  const wanted = words[kind === "cluster" ? "cluster" : "single"];
  process.stderr.write(
    `This volume holds what ${words[writer]} stored, and ${wanted} would delete it. ` +
      "Set nats.replicas back: nothing is lost.\n",
  );
  process.exitCode = 1;
}
