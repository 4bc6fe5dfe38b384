import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { waitFor } from "../../support/wait.ts";

/** A mounted hierarchy of control groups. */
interface Hierarchy {
  readonly path: string;
  readonly version: 1 | 2;
}

const removeTimeoutMs = 10_000;
/** That of eight processes, by the first version's file and the second's. */
const shares = { "cpu.shares": 8 * 1024, "cpu.weight": 8 * 100 };
const controllers = ["cpu", "cpuset", "memory", "pids"];

/** The hierarchies in a list of mounts. Source: proc_pid_mounts(5). */
export function hierarchiesIn(mounts: string): readonly Hierarchy[] {
  return mounts.split("\n").flatMap((line): readonly Hierarchy[] => {
    const [, path = "", kind] = line.split(" ");
    if (kind === "cgroup") return [{ path, version: 1 }];
    return kind === "cgroup2" ? [{ path, version: 2 }] : [];
  });
}

/** The controllers that the kubelet needs and this machine does not offer. */
export function missingControllers(): readonly string[] {
  const offered = hierarchies().flatMap(({ path, version }) => {
    return version === 1 ? (path.split("/").at(-1) ?? "").split(",") : readControllers(path);
  });
  return controllers.filter((controller) => !offered.includes(controller));
}

/** Makes a group in every hierarchy, below which the kubelet makes those of the pods. */
export async function createCgroups(name: string): Promise<void> {
  for (const { path, version } of hierarchies()) {
    if (version === 2) await hand(path, readControllers(path));
    await mkdir(join(path, name), { recursive: true });
    await weigh(join(path, name));
  }
}

/**
 * All pods together would else have the share of one process beside each other one of the machine. Source: cgroups(7).
 */
async function weigh(group: string): Promise<void> {
  for (const [file, share] of Object.entries(shares)) {
    const path = join(group, file);
    if (existsSync(path)) await writeFile(path, String(share));
  }
}

/**
 * Removes a group with all groups below it, from every hierarchy.
 *
 * @throws Error when a process still runs in one of them
 */
export async function removeCgroups(name: string): Promise<void> {
  for (const { path } of hierarchies()) {
    const group = join(path, name);
    // The kernel lets go of a group a moment after its last process has ended.
    await waitFor(async () => (await removeGroup(group), true), {
      timeoutMs: removeTimeoutMs,
      what: `the end of ${group}`,
    });
  }
}

async function removeGroup(path: string): Promise<void> {
  if (!existsSync(path)) return;
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await removeGroup(join(path, entry.name));
  await rmdir(path);
}

/** In the second version, a group has only the controllers that its parent hands down. */
async function hand(path: string, offered: readonly string[]): Promise<void> {
  const wanted = [...controllers, "hugetlb"].filter((controller) => offered.includes(controller));
  await writeFile(join(path, "cgroup.subtree_control"), wanted.map((controller) => `+${controller}`).join(" "));
}

function readControllers(path: string): readonly string[] {
  return readFileSync(join(path, "cgroup.controllers"), "utf8").trim().split(" ");
}

function hierarchies(): readonly Hierarchy[] {
  return hierarchiesIn(readFileSync("/proc/self/mounts", "utf8"));
}
