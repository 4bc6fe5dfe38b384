import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockDataFolder } from "../../../runtime/program/data-folder.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";

const lockModule = new URL("../../../runtime/program/data-folder.ts", import.meta.url).href;
let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder("lock");
});

afterEach(async () => folder.remove());

describe("the lock of a data folder", () => {
  test("is given to one holder at a time, and again after it let go", async () => {
    const first = await lockDataFolder(folder.path);
    expect(first).toBeDefined();
    expect(await lockDataFolder(folder.path)).toBeUndefined();
    first?.release();
    const second = await lockDataFolder(folder.path);
    expect(second).toBeDefined();
    second?.release();
  });

  test("makes a folder that is missing", async () => {
    const lock = await lockDataFolder(join(folder.path, "deep", "data"));
    expect(lock).toBeDefined();
    lock?.release();
  });

  test("is free the moment its holder was killed", async () => {
    const script = [
      `const { lockDataFolder } = await import(${JSON.stringify(lockModule)});`,
      `const lock = await lockDataFolder(${JSON.stringify(folder.path)});`,
      "process.stdout.write(String(lock !== undefined));",
      "setInterval(() => lock, 1000);",
    ].join("\n");
    const holder = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await once(holder.stdout, "data")) as [Buffer];
    expect(said.toString()).toBe("true");
    expect(await lockDataFolder(folder.path)).toBeUndefined();
    holder.kill("SIGKILL");
    await once(holder, "close");
    const lock = await lockDataFolder(folder.path);
    expect(lock).toBeDefined();
    lock?.release();
  });

  test("cannot be had where no folder can be", async () => {
    await writeFile(join(folder.path, "file"), "");
    await expect(lockDataFolder(join(folder.path, "file", "data"))).rejects.toThrow(/ENOTDIR/u);
  });
});
