import { expect, test } from "vitest";
import { cpuLimit } from "../../../runtime/processes/cpu-limit.ts";

const second = "/sys/fs/cgroup/cpu.max";
const quota = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
const period = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";

test.each<[string, Readonly<Record<string, string>>, number | undefined]>([
  ["of version 2", { [second]: "250000 100000\n" }, 2.5],
  ["of version 2 without a limit", { [second]: "max 100000\n" }, undefined],
  ["of version 1", { [quota]: "400000\n", [period]: "100000\n" }, 4],
  ["of version 1 without a limit", { [quota]: "-1\n", [period]: "100000\n" }, undefined],
  ["of a machine without cgroups", {}, undefined],
  ["of files with another content", { [second]: "what\n", [quota]: "?", [period]: "" }, undefined],
])("the CPU limit %s", (_row, files, limit) => {
  const read = (path: string): string => {
    const text = files[path];
    if (text === undefined) throw new Error(`${path} does not exist`);
    return text;
  };
  expect(cpuLimit(read)).toBe(limit);
});
