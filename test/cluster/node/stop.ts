import { rm } from "node:fs/promises";
import { waitFor } from "../../support/wait.ts";
import { removeCgroups } from "./cgroups.ts";
import type { Layout } from "./layout.ts";
import { markVariable } from "./namespaces.ts";
import { identify, isAlive, kill9, processesWith } from "./process-identity.ts";
import { readRecord } from "./record.ts";

const endTimeoutMs = 15_000;

/**
 * Ends a node in whatever state it is, also one whose starter was killed, and removes all of it. With the first process
 * of its namespaces the kernel ends all others, and what they mounted and configured; what is left are the commands
 * that started them from outside, the control groups and the folder. Only recorded processes, known by id and start
 * time, and processes that carry this node's folder in their environment are ended.
 *
 * @throws Error that names what did not go away
 */
export async function stopNode(layout: Layout): Promise<void> {
  const record = readRecord(layout);
  const recorded = [record?.init, record?.outer].filter((identity) => identity !== undefined);
  for (const identity of recorded) kill9(identity);
  const recordedEnded = (): boolean => !recorded.some(isAlive);
  await waitFor(recordedEnded, { timeoutMs: endTimeoutMs, what: "the end of the node's first process" });
  for (const identity of marked(layout).map(identify)) if (identity !== undefined) kill9(identity);
  await waitFor(() => marked(layout).length === 0, {
    timeoutMs: endTimeoutMs,
    what: "the end of the node's processes",
  });
  await removeCgroups(layout.cgroup);
  await rm(layout.root, { recursive: true, force: true });
}

function marked(layout: Layout): readonly number[] {
  return processesWith(markVariable, layout.root);
}
