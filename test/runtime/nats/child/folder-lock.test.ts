import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockFolder } from "../../../../runtime/nats/child/running-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";

/** Above what systems hand out. */
const noSuchPid = 2 ** 30;
let folder: TemporaryFolder;
let path: string;

beforeEach(async () => {
  folder = await temporaryFolder("lock");
  path = join(folder.path, "lock");
});
afterEach(() => folder.remove());

describe("a folder lock", () => {
  test("is refused while its holder runs, and free after its release", async () => {
    const lock = await lockFolder(path, "The folder");
    await expect(lockFolder(path, "The folder")).rejects.toThrow(`The folder is in use by process ${process.pid}`);
    await lock.release();
    await (await lockFolder(path, "The folder")).release();
  });

  test.each([
    ["a process that is gone", `${noSuchPid} 1`],
    ["an earlier process with an id that is used again", `${process.pid} 1`],
  ])("of %s counts no more", async (_holder, text) => {
    await writeFile(path, text);
    const lock = await lockFolder(path, "The folder");
    expect(await readFile(path, "utf8")).toMatch(new RegExp(`^${process.pid} `, "u"));
    await lock.release();
  });

  test("that is stale is acquired by exactly one of many callers", async () => {
    await writeFile(path, `${noSuchPid} 1`);
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(path, "The folder")));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });
});
