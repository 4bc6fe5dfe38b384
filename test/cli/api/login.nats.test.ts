import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { run, type RunResult } from "../../tools/run.ts";
import { type Installation, makeInstallation, type Running } from "../installation.ts";

const program = join(import.meta.dirname, "..", "..", "..", "bin", "heliograph.js");
const commandMsMax = 60_000;

let installation: Installation;
let server: Running;
let home: TemporaryFolder;

beforeAll(async () => {
  home = await temporaryFolder("login");
  installation = await makeInstallation();
  server = await installation.start();
});

afterAll(async () => {
  await installation?.remove();
  await home?.remove();
});

function heliograph(...args: readonly string[]): Promise<RunResult> {
  const env = { HOME: home.path, XDG_CONFIG_HOME: "", HELIOGRAPH_URL: "", HELIOGRAPH_TOKEN: "" };
  return run(process.execPath, [program, ...args], { cwd: home.path, env, timeoutMs: commandMsMax });
}

const file = (): string => join(home.path, ".config", "heliograph", "login.json");
const saved = async (): Promise<unknown> => JSON.parse(await readFile(file(), "utf8"));

test("a login that the server refuses is not saved", async () => {
  await writeFile(join(home.path, "token"), "a.b.c");
  const { code, stderr } = await heliograph("login", "--url", server.line.url, "--token-file", "token");
  expect({ code, stderr }).toEqual({ code: 11, stderr: expect.stringContaining("401") as string });
  await expect(saved()).rejects.toThrow("ENOENT");
});

test("a login saves the URL and the whole path of the token's file, for its user only", async () => {
  await writeFile(join(home.path, "token"), `${await installation.token()}\n`);
  const done = await heliograph("login", "--url", `${server.line.url}/`, "--token-file", "token");
  expect(done).toEqual({ code: 0, stdout: "", stderr: `Login saved in ${file()}.\n` });
  expect(await saved()).toEqual({ url: server.line.url, tokenFile: join(home.path, "token") });
  expect((await stat(file())).mode & 0o777).toBe(0o600);
});

test("a login without a token is taken, for commands that bring one", async () => {
  expect(await heliograph("login", "--url", server.line.url)).toMatchObject({ code: 0 });
  expect(await saved()).toEqual({ url: server.line.url });
});

test("a server that cannot be reached is told, and the previous login stays", async () => {
  expect(await heliograph("login", "--url", "http://127.0.0.1:1")).toMatchObject({ code: 12 });
  expect(await saved()).toEqual({ url: server.line.url });
});

test("logout removes the login, also twice", async () => {
  expect(await heliograph("logout")).toMatchObject({ code: 0 });
  expect(await heliograph("logout")).toMatchObject({ code: 0 });
  await expect(saved()).rejects.toThrow("ENOENT");
});
