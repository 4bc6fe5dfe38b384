import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { waitFor } from "../support/wait.ts";
import { makeInstallation, type Installation } from "./installation.ts";

const mebibytes = (count: number): number => count * 1024 ** 2;
const timeoutMs = 30_000;
let installation: Installation;

beforeEach(async () => {
  installation = await makeInstallation();
});

afterEach(async () => installation.remove());

test.each([
  ["one process", ["--memory", "256Mi", "--processes", "1"], 1],
  ["each of two", ["--memory", "512Mi", "--processes", "2"], 2],
])("%s of the started program has its heap, allocator and caches by --memory", async (_, flags, count) => {
  const program = await installation.start(...flags);
  expect(program.line.pid).toBe(program.pid);
  const isSized = ({ msg }: Readonly<Record<string, unknown>>): boolean => msg === "memory sized";
  // A process of several logs after the ready line of the first.
  await waitFor(() => program.logLines().filter(isSized).length === count, { timeoutMs, what: "the log of each" });
  const sized = program.logLines().filter(isSized);
  expect(new Set(sized.map(({ pid }) => pid)).size).toBe(count);
  for (const line of sized) {
    // The engine counts three halves of the young generation to the bound.
    expect(line).toMatchObject({
      heapBytesMax: mebibytes(153 + 3 * 8),
      cacheBytesMax: { points: mebibytes(24), finished: mebibytes(8), repeats: mebibytes(8) },
    });
    const environment = await readFile(`/proc/${String(line["pid"])}/environ`, "utf8");
    expect(environment.split("\0")).toContain("MALLOC_ARENA_MAX=2");
  }
});
