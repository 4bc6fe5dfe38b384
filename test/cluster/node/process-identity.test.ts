import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { waitFor } from "../../support/wait.ts";
import { childrenOf, identify, isAlive, kill9, processesWith, programOf } from "./process-identity.ts";

async function startSleep(
  env: Readonly<Record<string, string>> = {},
): Promise<{ pid: number; ended: Promise<unknown> }> {
  const child = spawn("sleep", ["60"], { env: { ...process.env, ...env } });
  await once(child, "spawn");
  return { pid: child.pid ?? 0, ended: once(child, "exit") };
}

describe.skipIf(process.platform !== "linux")("process identity", () => {
  test("ends with its process", async () => {
    const { pid, ended } = await startSleep();
    const identity = identify(pid);
    if (identity === undefined) throw new Error("sleep does not run");
    expect(isAlive(identity)).toBe(true);
    kill9(identity);
    await ended;
    await waitFor(() => !isAlive(identity), { timeoutMs: 20_000, what: "the end of sleep" });
  });

  test("is not that of another process with the same id, which kill9 leaves alone", async () => {
    const { pid, ended } = await startSleep();
    const identity = identify(pid);
    if (identity === undefined) throw new Error("sleep does not run");
    for (const other of [
      { ...identity, startTicks: "1" },
      { ...identity, bootId: "another boot" },
    ]) {
      expect(isAlive(other)).toBe(false);
      kill9(other);
    }
    expect(isAlive(identity)).toBe(true);
    kill9(identity);
    await ended;
  });

  test("does not exist for an id without a process", () => {
    expect(identify(2 ** 30)).toBeUndefined();
  });

  test("of a child is found by its parent, its program and its environment", async () => {
    const mark = `${process.pid}-${performance.now()}`;
    const { pid, ended } = await startSleep({ HELIOGRAPH_TEST_MARK: mark });
    const identity = identify(pid);
    await waitFor(() => programOf(pid) === "sleep", { timeoutMs: 20_000, what: "sleep's start" });
    expect(childrenOf(process.pid)).toContain(pid);
    expect(processesWith("HELIOGRAPH_TEST_MARK", mark)).toEqual([pid]);
    expect(processesWith("HELIOGRAPH_TEST_MARK", mark.slice(0, -1))).toEqual([]);
    if (identity !== undefined) kill9(identity);
    await ended;
  });
});
