import { readFileSync } from "node:fs";

const readText = (path: string): string => readFileSync(path, "utf8");

/**
 * CPUs that the cgroup of this container allows. Containers see it at these paths, in version 2 and version 1.
 * @param read returns the text of a file. @default from the disk
 * @returns undefined without a limit
 */
export function cpuLimit(read: (path: string) => string = readText): number | undefined {
  const text = (path: string): string => {
    try {
      return read(path);
    } catch {
      return "";
    }
  };
  const second = text("/sys/fs/cgroup/cpu.max").trim().split(" ");
  const first = ["quota", "period"].map((name) => text(`/sys/fs/cgroup/cpu/cpu.cfs_${name}_us`).trim());
  const [quota = Number.NaN, period = Number.NaN] = (second.length === 2 ? second : first).map(Number);
  return quota > 0 && period > 0 ? quota / period : undefined;
}
