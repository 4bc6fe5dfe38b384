import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findNatsServer } from "../../../../runtime/nats/child/find-programs.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder("binary");
});

afterEach(() => folder.remove());

/** A program that says it is a nats-server of this version. */
async function program(path: string, version: string): Promise<string> {
  const file = join(folder.path, path, "nats-server");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho nats-server: v${version}\n`);
  await chmod(file, 0o755);
  return file;
}

const cache = "cache/heliograph/tools";
const environment = (more: Readonly<Record<string, string>> = {}) => ({
  PATH: join(folder.path, "bin"),
  XDG_CACHE_HOME: join(folder.path, "cache"),
  ...more,
});

describe("nats-server is found", () => {
  test("at the path in the environment, before any other place", async () => {
    await program("bin", "2.15.2");
    const named = await program("named", "2.15.2");
    expect(await findNatsServer(environment({ HELIOGRAPH_NATS_SERVER: named }))).toBe(named);
  });

  test("on PATH, before the cache", async () => {
    await program(`${cache}/nats-server-0123456789abcdef`, "2.15.2");
    const onPath = await program("bin", "2.15.2");
    expect(await findNatsServer(environment())).toBe(onPath);
  });

  test("in the cache of a checkout, when the one on PATH is too old", async () => {
    await program("bin", "2.10.1");
    const built = await program(`${cache}/nats-server-0123456789abcdef`, "2.15.2");
    expect(await findNatsServer(environment())).toBe(built);
  });

  test("in the cache of a checkout, which may hold older ones and an unfinished one", async () => {
    await program(`${cache}/nats-server-0000`, "2.10.1");
    await program(`${cache}/nats-server-1111.making.7`, "2.15.2");
    const built = await program(`${cache}/nats-server-2222`, "2.15.2");
    expect(await findNatsServer(environment())).toBe(built);
    expect(
      await findNatsServer({ HOME: join(folder.path, "nobody"), XDG_CACHE_HOME: join(folder.path, "cache") }),
    ).toBe(built);
  });
});

describe("nats-server is refused", () => {
  test("when there is none", async () => {
    await expect(findNatsServer(environment())).rejects.toThrow(
      /^nats-server was not found: .*https:.*--nats-server .*--nats, .*npm run tools -- nats-server/u,
    );
  });

  test("when the only one is too old", async () => {
    const old = await program(`${cache}/nats-server-0000`, "2.10.1");
    await expect(findNatsServer(environment())).rejects.toThrow(
      `${old} has version 2.10.1, but nats-server 2.14 or newer is needed`,
    );
  });
});
