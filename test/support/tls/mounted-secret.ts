import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A folder with files that change all at once, as the kubelet mounts a Secret. */
export interface MountedSecret {
  readonly folder: string;
  /** Replaces every file: a new folder, and one link to it that is renamed into place. */
  replace(files: Readonly<Record<string, string>>): Promise<void>;
}

/** Mounts a Secret below a folder. */
export async function mountSecret(folder: string, files: Readonly<Record<string, string>>): Promise<MountedSecret> {
  let version = 0;
  let linked: readonly string[] = [];
  const replace: MountedSecret["replace"] = async (next) => {
    const target = `..v${(version += 1)}`;
    await mkdir(join(folder, target), { recursive: true });
    await Promise.all(Object.entries(next).map(([name, text]) => writeFile(join(folder, target, name), text)));
    await symlink(target, join(folder, "..data_tmp"));
    await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    const names = Object.keys(next);
    const added = names.filter((name) => !linked.includes(name));
    const removed = linked.filter((name) => !names.includes(name));
    await Promise.all(added.map((name) => symlink(join("..data", name), join(folder, name))));
    await Promise.all(removed.map((name) => rm(join(folder, name))));
    linked = names;
  };
  await replace(files);
  return { folder, replace };
}
