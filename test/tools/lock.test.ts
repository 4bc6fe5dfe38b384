import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TemporaryFolder, temporaryFolder } from "../support/temp-folder.ts";
import { isStale, withLock } from "./lock.ts";

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder("lock");
});
afterAll(() => folder.remove());

const patient = { waitMs: 10_000, onWait: () => undefined };

/** The id of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ["-e", ""]).pid;
}

describe("isStale", () => {
  const lives = () => true;
  const isGone = () => false;
  test("is false while the holder lives and touches the file", () => {
    expect(isStale({ pid: 7, silentMs: 3_000 }, lives)).toBe(false);
  });
  test("is true when the holder is gone", () => {
    expect(isStale({ pid: 7, silentMs: 0 }, isGone)).toBe(true);
  });
  test("is true when another process has its id and does not touch the file", () => {
    expect(isStale({ pid: 7, silentMs: 61_000 }, lives)).toBe(true);
  });
});

describe("withLock", () => {
  test("lets one in after the other", async () => {
    const path = join(folder.path, "turns");
    let [inside, most, done] = [0, 0, 0];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      expect(await readFile(path, "utf8")).toBe(String(process.pid));
      inside -= 1;
      done += 1;
    };
    await Promise.all([1, 2, 3, 4].map(() => withLock(path, patient, work)));
    expect({ most, done, left: existsSync(path) }).toEqual({ most: 1, done: 4, left: false });
  });

  test("takes over the lock of a process that ended", async () => {
    const path = join(folder.path, "dead");
    await writeFile(path, String(deadPid()));
    expect(await withLock(path, patient, async () => readFile(path, "utf8"))).toBe(String(process.pid));
  });

  test("takes over a lock that no process touched for long", async () => {
    const path = join(folder.path, "silent");
    await writeFile(path, String(process.pid));
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(path, longAgo, longAgo);
    expect(await withLock(path, patient, async () => "done")).toBe("done");
  });

  test("gives up after its wait and names the holder", async () => {
    const path = join(folder.path, "held");
    await writeFile(path, String(process.pid));
    const waits: number[] = [];
    const impatient = { waitMs: 50, onWait: (pid: number) => waits.push(pid) };
    await expect(withLock(path, impatient, async () => "never")).rejects.toThrow(
      `process ${process.pid} still holds ${path}`,
    );
    expect(waits).toContain(process.pid);
  });

  test("is free again after work that throws", async () => {
    const path = join(folder.path, "thrown");
    const failing = withLock(path, patient, async () => {
      throw new Error("no space left");
    });
    await expect(failing).rejects.toThrow("no space left");
    expect(existsSync(path)).toBe(false);
  });
});
