import { join } from "node:path";
import { waitFor } from "../support/wait.ts";
import { run } from "../tools/run.ts";
import { chart, type Installation, setJson } from "./installation.ts";
import type { User } from "./user.ts";

const program = join(import.meta.dirname, "..", "..", "cli", "heliograph.ts");
const moveMsMax = 2 * 60_000;

/** A move of the streams to other servers. */
interface Move {
  readonly release: string;
  /** Number of the new servers. */
  readonly replicas: number;
  /** Suffix of their names. */
  readonly store: string;
}

/**
 * Moves all streams to other NATS servers with the three commands of docs/how-to/install.md. Returns what the command
 * printed.
 *
 * @throws Error with what a command complained about
 */
export async function moveNats(
  installation: Installation,
  user: User,
  { release, replicas, store }: Move,
): Promise<readonly string[]> {
  const upgrade = (values: Readonly<Record<string, unknown>>): Promise<string> => {
    const flags = ["--namespace", user.namespace, "--reuse-values", "--wait", "--timeout=3m"];
    return installation.helm(["upgrade", release, chart, ...flags, ...setJson(values)]);
  };
  await upgrade({ "nats.migration.replicas": replicas, "nats.migration.store": store });
  const args = ["nats", "migrate", "--release", release, "--namespace", user.namespace];
  const { code, stdout, stderr } = await run(
    process.execPath,
    [program, ...args, "--kubeconfig", installation.cluster.kubeconfig],
    { timeoutMs: moveMsMax },
  );
  if (code !== 0) throw new Error(`nats migrate: ${stdout}${stderr}`);
  await upgrade({
    "nats.store": store,
    "nats.replicas": replicas,
    "nats.migration.replicas": 0,
    "settings.streams.replicas": replicas,
  });
  return stdout.trim().split("\n");
}

/** Waits until every event came for each of the partners. Answers how many events came too often. */
export async function doubledOf(user: User, prefix: string, events: number, partners: number): Promise<number> {
  const counts = async (): Promise<readonly number[]> =>
    Object.entries((await user.received()).events).flatMap(([id, count]) => (id.startsWith(`${prefix}-`) ? count : []));
  const haveAll = async (): Promise<boolean> => {
    const all = await counts();
    return all.length === events && all.every((count) => count >= partners);
  };
  await waitFor(haveAll, { timeoutMs: moveMsMax, pollMs: 500, what: `${events} events at ${partners} partners` });
  return (await counts()).filter((count) => count > partners).length;
}
