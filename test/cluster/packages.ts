import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Progress } from "./cluster.ts";
import { debianTree } from "./debian-tree.ts";

const packages = [
  "buildah",
  "busybox-static",
  "containerd",
  "containernetworking-plugins",
  "iproute2",
  "iptables",
  "runc",
  "tini",
];

/**
 * Debian's programs that the node and the image builder run, unpacked once into the tools' cache; answers the folder.
 * They run where `packagesScript` has been run, which makes them look installed.
 */
export function nodePackages(progress: Progress): Promise<string> {
  return debianTree({ name: "node-packages", packages, withDependencies: true, finish, revision: 1 }, progress);
}

/** Does what installing would: one tree below `usr`, and the names that `update-alternatives` gives iptables. */
async function finish(tree: string): Promise<void> {
  for (const folder of ["bin", "sbin", "lib"]) {
    await mkdir(join(tree, folder), { recursive: true });
    await cp(join(tree, folder), join(tree, "usr", folder), { recursive: true, verbatimSymlinks: true });
  }
  for (const family of ["iptables", "ip6tables"]) {
    for (const action of ["", "-save", "-restore"])
      await symlink("xtables-nft-multi", join(tree, "usr", "sbin", `${family}${action}`));
  }
}

/** Folders that take what would be written below `/var/lib`; both on one disk. */
interface VarLib {
  readonly upper: string;
  readonly work: string;
}

/**
 * What gives a mount namespace the packages and a `/run` and `/var/lib` of its own, as a shell script. This machine's
 * files stay as they are: the mounts are seen in that namespace only and end with it.
 */
export function packagesScript(tree: string, varLib: VarLib): string {
  const lower = (folder: string): string => quoted(`ro,lowerdir=${join(tree, folder)}:/${folder}`);
  return [
    `mount -t overlay -o ${lower("usr")} overlay /usr`,
    `mount -t overlay -o ${lower("etc")} overlay /etc`,
    `mount -t overlay -o ${quoted(`lowerdir=/var/lib,upperdir=${varLib.upper},workdir=${varLib.work}`)} overlay ` +
      "/var/lib",
    "mount -t tmpfs -o mode=755 tmpfs /run",
    "",
  ].join("\n");
}

/** A word for a shell script that stands for exactly this text. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
