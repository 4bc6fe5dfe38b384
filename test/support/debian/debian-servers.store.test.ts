import { existsSync } from "node:fs";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { findDebianServer } from "../../tools/debian-server.ts";
import { startPostgres } from "./postgres.ts";
import { startRedis } from "./redis.ts";
import { temporaryFolder } from "../temp-folder.ts";
import { waitFor } from "../wait.ts";

const postgres = await findDebianServer("postgres");
const redis = await findDebianServer("redis-server");

describe.skipIf("missing" in postgres)("startPostgres", () => {
  test("starts a server that stores rows, and leaves nothing behind", async () => {
    const server = await startPostgres(postgres);
    const client = new Client(server.url);
    await client.connect();
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid, current_setting('data_directory') AS data");
    const { pid, data } = rows[0] as { readonly pid: number; readonly data: string };
    expect(isAlive(pid)).toBe(true);
    client.on("error", () => undefined);
    await server.stop();
    await waitFor(() => !isAlive(pid), { timeoutMs: 10_000, what: "the end of the server's processes" });
    expect(existsSync(data)).toBe(false);
  });
});

describe.skipIf("missing" in redis)("startRedis", () => {
  test("starts a server that answers", async () => {
    const server = await startRedis(redis);
    expect(server.url).toMatch(/^redis:\/\/127\.0\.0\.1:\d+$/u);
    await server.stop();
  });
});

describe("findDebianServer", () => {
  test("takes the program that the environment names", async () => {
    const found = await findDebianServer("redis-server", { env: { HELIOGRAPH_REDIS: process.execPath } });
    expect(found).toEqual({ command: process.execPath, env: {} });
  });

  test("refuses a named program that is not there", async () => {
    const env = { HELIOGRAPH_POSTGRES: "/nowhere/postgres" };
    await expect(findDebianServer("postgres", { env })).rejects.toThrow(
      "HELIOGRAPH_POSTGRES cannot be used: /nowhere/postgres is not an executable file.",
    );
  });

  test("says what to do on a machine without apt", async () => {
    const cache = await temporaryFolder("no-apt");
    const path = process.env["PATH"];
    process.env["PATH"] = "/nowhere";
    try {
      const options = { env: { XDG_CACHE_HOME: cache.path }, progress: () => undefined };
      const found = await findDebianServer("postgres", options);
      const sentences = "postgres is not there: this machine has no apt. Name the program in HELIOGRAPH_POSTGRES,";
      expect(found).toHaveProperty("missing", expect.stringContaining(sentences));
    } finally {
      process.env["PATH"] = path;
      await cache.remove();
    }
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
