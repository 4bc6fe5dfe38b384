import { expect, test } from "vitest";
import { hierarchiesIn } from "./cgroups.ts";

test("hierarchiesIn finds both versions beside each other", () => {
  const mounts = [
    "proc /proc proc rw,relatime 0 0",
    "tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0",
    "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0",
    "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0",
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0",
    "",
  ].join("\n");
  expect(hierarchiesIn(mounts)).toEqual([
    { path: "/sys/fs/cgroup/cpu,cpuacct", version: 1 },
    { path: "/sys/fs/cgroup/memory", version: 1 },
    { path: "/sys/fs/cgroup/unified", version: 2 },
  ]);
});
