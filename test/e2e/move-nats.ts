import { temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import type { Installation } from "./installation.ts";
import { installSteps, outputOf, shellIn } from "./page-commands.ts";
import type { User } from "./user.ts";

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
 * Moves all streams to other NATS servers: types the commands of docs/how-to/install.md, with another release, number
 * and suffix. Returns what they printed.
 *
 * @throws Error with what a command complained about
 */
export async function moveNats(
  { cluster }: Installation,
  user: User,
  { release, replicas, store }: Move,
): Promise<readonly string[]> {
  const steps = await installSteps("Another number of NATS servers", user.namespace);
  if (steps.length !== 3) throw new Error("the page has other commands");
  const folder = await temporaryFolder("move");
  try {
    const shell = await shellIn(folder.path, cluster.kubeconfig);
    const printed: string[] = [];
    for (const { commands } of steps) {
      const typed = commands
        .replace("upgrade heliograph ", `upgrade ${release} `)
        .replace("--release heliograph ", `--release ${release} `)
        .replaceAll("replicas=3", `replicas=${replicas}`)
        .replaceAll("store=b", `store=${store}`);
      printed.push(await outputOf(typed, shell));
    }
    return printed.join("").trim().split("\n");
  } finally {
    await folder.remove();
  }
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
