import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ShardCopies } from "../../../../runtime/config/kubernetes/shard-copies.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";
import { configOf, secretOf, shardSecrets } from "../shard-secrets.ts";

let folder: TemporaryFolder;
const secret = (revision: number) => secretOf(shardSecrets(configOf({ acme: {} }), { revision }), "keys-00");

beforeEach(async () => {
  folder = await temporaryFolder("copies");
});

afterEach(async () => folder.remove());

const open = (prefix = "shop-heliograph") => ShardCopies.open(join(folder.path, "cache"), prefix);
const path = () => join(folder.path, "cache", "shop-heliograph-keys-00.json");

describe("copies on disk", () => {
  test("give back what was written, also to the next run", async () => {
    await (await open()).write("keys-00", secret(3));
    const { metadata, data } = secret(3);
    expect(await (await open()).read("keys-00")).toEqual({ metadata: { annotations: metadata.annotations }, data });
  });

  test("can be read by their owner only, in a folder that only the owner can enter", async () => {
    const copies = await open();
    await writeFile(`${path()}.new`, "", { mode: 0o666 });
    await chmod(`${path()}.new`, 0o666);
    await copies.write("keys-00", secret(1));
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder.path, "cache"))).mode & 0o777).toBe(0o700);
  });

  test("hold the last of many writes and leave nothing else behind", async () => {
    const copies = await open();
    for (let revision = 1; revision <= 20; revision += 1) void copies.write("keys-00", secret(revision));
    await copies.settled();
    expect(await readFile(path(), "utf8")).toContain('"heliograph.dev/revision":"20"');
    expect(await readdir(join(folder.path, "cache"))).toEqual(["shop-heliograph-keys-00.json"]);
  });

  test("differ by the installation", async () => {
    await (await open()).write("keys-00", secret(1));
    expect(await (await open("other")).read("keys-00")).toBeUndefined();
  });

  test.each(["", "{", "null", "[]", '"text"'])("that hold %j are as good as none", async (text) => {
    const copies = await open();
    await writeFile(path(), text);
    expect(await copies.read("keys-00")).toBeUndefined();
  });

  test("that cannot be written say so", async () => {
    const copies = await open();
    await folder.remove();
    await expect(copies.write("keys-00", secret(1))).rejects.toThrow("ENOENT");
  });
});
