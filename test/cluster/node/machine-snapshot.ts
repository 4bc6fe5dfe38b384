import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { markVariable } from "./namespaces.ts";
import { processesWith, processIds } from "./process-identity.ts";

/** What a node could leave on a machine; each list is sorted and holds no duplicates. */
export interface MachineSnapshot {
  /** Those of this node, and those of process namespaces other than this one's. */
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly networkNamespaces: readonly string[];
  /** The uppermost of each hierarchy; below them, others come and go on a machine in use. */
  readonly cgroups: readonly string[];
  readonly links: readonly string[];
  /** Kernel settings that a kubelet or a network changes. */
  readonly settings: readonly string[];
}

const settings = [
  "kernel/keys/root_maxbytes",
  "kernel/keys/root_maxkeys",
  "kernel/panic",
  "kernel/panic_on_oops",
  "net/ipv4/ip_forward",
  "vm/overcommit_memory",
  "vm/panic_on_oom",
];

/** Looks at the machine. @param root the node's folder, which its processes carry in their environment */
export function machineSnapshot(root: string): MachineSnapshot {
  const pids = processIds();
  const own = namespaceOf(process.pid, "pid");
  const foreign = pids.filter((pid) => ![own, undefined].includes(namespaceOf(pid, "pid")));
  return {
    processes: distinct([...foreign, ...processesWith(markVariable, root)].map(String)),
    mounts: distinct(readFileSync("/proc/self/mounts", "utf8").trim().split("\n")),
    networkNamespaces: distinct(pids.flatMap((pid) => namespaceOf(pid, "net") ?? [])),
    cgroups: distinct(["/sys/fs/cgroup", ...foldersIn("/sys/fs/cgroup")].flatMap(foldersIn)),
    links: distinct(readdirSync("/sys/class/net")),
    settings: settings.map((setting) => `${setting}=${readFileSync(`/proc/sys/${setting}`, "utf8").trim()}`),
  };
}

/** What is there now and was not before. */
export function leftBehind(
  before: MachineSnapshot,
  after: MachineSnapshot,
): Readonly<Record<string, readonly string[]>> {
  const kinds = Object.keys(before) as (keyof MachineSnapshot)[];
  const fresh = kinds.map((kind) => [kind, after[kind].filter((item) => !before[kind].includes(item))] as const);
  return Object.fromEntries(fresh.filter(([, items]) => items.length > 0));
}

function namespaceOf(pid: number, kind: "pid" | "net"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return undefined;
  }
}

function foldersIn(path: string): readonly string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${path}/${entry.name}`);
}

function distinct(items: readonly string[]): readonly string[] {
  return [...new Set(items)].sort();
}
