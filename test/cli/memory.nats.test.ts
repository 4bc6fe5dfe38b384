import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeInstallation, type Installation } from "./installation.ts";

const mebibytes = (count: number): number => count * 1024 ** 2;
let installation: Installation;

beforeEach(async () => {
  installation = await makeInstallation();
});

afterEach(async () => installation.remove());

test("the started program has its heap, allocator and caches by --memory", async () => {
  const program = await installation.start("--memory", "256Mi");
  expect(program.line.pid).toBe(program.pid);
  const sized = program.logLines().filter(({ msg }) => msg === "memory sized");
  // The engine counts three halves of the young generation to the bound.
  expect(sized).toMatchObject([
    {
      pid: program.pid,
      heapBytesMax: mebibytes(153 + 3 * 8),
      cacheBytesMax: { points: mebibytes(15), finished: mebibytes(5), repeats: mebibytes(5) },
    },
  ]);
  const environment = await readFile(`/proc/${program.pid}/environ`, "utf8");
  expect(environment.split("\0")).toContain("MALLOC_ARENA_MAX=2");
});
