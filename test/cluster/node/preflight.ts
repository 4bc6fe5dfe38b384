import { accessSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";
import { missingControllers } from "./cgroups.ts";
import type { Layout } from "./layout.ts";

/** What a machine offers of what a node needs. */
export interface MachineFacts {
  readonly platform: string;
  readonly userId: number;
  /** Programs of PATH that the node is started with and that are not there. */
  readonly missingPrograms: readonly string[];
  readonly missingControllers: readonly string[];
  readonly hasOverlay: boolean;
  readonly folder: string;
}

/** Each program that cannot come from the tools' cache, with the Debian package that holds it. */
const programs: Readonly<Record<string, string>> = {
  unshare: "util-linux",
  nsenter: "util-linux",
  mount: "mount",
  "apt-get": "apt",
  dpkg: "dpkg",
};

const ownFolders = ["/run", "/var/lib", "/var/log", "/usr", "/etc"];

/** What keeps a node from running, one sentence each; empty when nothing does. */
export function nodeProblems(facts: MachineFacts): readonly string[] {
  if (facts.platform !== "linux")
    return ["A node without Docker needs Linux; elsewhere, start Docker and use CLUSTER=kind."];
  const owner = ownFolders.find((folder) => facts.folder === folder || facts.folder.startsWith(`${folder}/`));
  return [
    ...(facts.userId === 0
      ? []
      : ["A node needs root, for namespaces, mounts and control groups: run the command as root."]),
    ...facts.missingPrograms.map(
      (name) => `There is no ${name} on PATH: install Debian's package ${programs[name] ?? name}.`,
    ),
    ...facts.missingControllers.map(
      (name) => `The control group controller ${name} is not mounted below /sys/fs/cgroup.`,
    ),
    ...(facts.hasOverlay ? [] : ['The kernel has no overlayfs: load its module with "modprobe overlay".']),
    ...(owner === undefined
      ? []
      : [`The node has a ${owner} of its own: set HELIOGRAPH_CLUSTER_HOME to a folder that is not below it.`]),
  ];
}

/** Looks at this machine. */
export function machineFacts(layout: Layout): MachineFacts {
  return {
    platform: process.platform,
    userId: process.getuid?.() ?? -1,
    missingPrograms: Object.keys(programs).filter((name) => !isOnPath(name)),
    missingControllers: process.platform === "linux" ? missingControllers() : [],
    hasOverlay: process.platform === "linux" && /\boverlay$/mu.test(readFileSync("/proc/filesystems", "utf8")),
    folder: layout.root,
  };
}

function isOnPath(name: string): boolean {
  return (process.env["PATH"] ?? "").split(":").some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
