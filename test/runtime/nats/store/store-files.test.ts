import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createStoreFiles, missingStreams, missingText } from "../../../../runtime/nats/store/store-files.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder("store-files");
});
afterEach(() => folder.remove());

/** A `/jsz` of streams in one account. */
const jsz = (...names: readonly string[]): unknown => ({
  account_details: [
    { id: "HG", stream_detail: names.map((name) => ({ name, config: { storage: "file" } })) },
    { id: "EMPTY" },
  ],
});
const folderOf = (name: string): string => join(folder.path, "jetstream", "HG", "streams", name);
async function store(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(join(folderOf(name), "msgs"), { recursive: true });
    await writeFile(join(folderOf(name), "meta.inf"), "{}");
  }
}

describe("streams without files", () => {
  test("are those that the server lists and the volume lacks", async () => {
    await store("A", "B");
    expect(await missingStreams(jsz("B", "A"), folder.path)).toEqual([]);
    expect(await missingStreams(jsz("D", "A", "C"), folder.path)).toEqual(["C", "D"]);
    await rm(join(folder.path, "jetstream"), { recursive: true });
    expect(await missingStreams(jsz("B", "A"), folder.path)).toEqual(["A", "B"]);
  });

  test("are those of which only a consumer has a folder", async () => {
    await mkdir(join(folderOf("A"), "obs", "worker"), { recursive: true });
    expect(await missingStreams(jsz("A"), folder.path)).toEqual(["A"]);
  });

  test("are those whose messages were moved aside", async () => {
    await store("A", "B");
    await rename(join(folderOf("A"), "msgs"), join(folderOf("A"), "__msgs__"));
    expect(await missingStreams(jsz("A", "B"), folder.path)).toEqual(["A"]);
  });

  test("are not streams in memory, and none are listed while JetStream is off", async () => {
    const memory = { account_details: [{ id: "HG", stream_detail: [{ name: "M", config: { storage: "memory" } }] }] };
    expect(await missingStreams(memory, folder.path)).toEqual([]);
    expect(await missingStreams({ disabled: true }, folder.path)).toEqual([]);
  });

  test("are unknown while the volume cannot be read", async () => {
    await store("A");
    // A name of 256 characters is longer than any file system takes.
    await expect(missingStreams(jsz("n".repeat(256)), folder.path)).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  });

  test("are named up to three", () => {
    expect(missingText(["A", "B", "C"])).toMatch(/^the files of A, B, C are gone from the volume\. /u);
    expect(missingText(["A", "B", "C", "D", "E"])).toMatch(/^the files of A, B, C and 2 more are gone/u);
  });
});

test("a watch believes the second look, reports changes once, and keeps what it knows while the server is silent", async () => {
  await store("A", "B");
  let listed: unknown = jsz("A", "B");
  const changes: (readonly string[])[] = [];
  const read = async (): Promise<unknown> => {
    if (listed === undefined) throw new Error("silent");
    return listed;
  };
  const files = createStoreFiles({ read, dataFolder: folder.path, onChange: (missing) => void changes.push(missing) });
  expect(files.missing()).toBeUndefined();
  await files.check();
  expect(files.missing()).toEqual([]);
  await rm(folderOf("A"), { recursive: true });
  await files.check();
  expect(files.missing()).toEqual([]);
  await files.check();
  expect(files.missing()).toEqual(["A"]);
  listed = undefined;
  await files.check();
  expect(files.missing()).toEqual(["A"]);
  listed = jsz("B");
  await files.check();
  expect([files.missing(), changes]).toEqual([[], [["A"], []]]);
});
