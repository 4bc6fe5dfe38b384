import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loginPath, readLogin, writeLogin } from "../../../cli/api/login-file.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder("login-file");
});
afterEach(() => folder.remove());

const environment = () => ({ XDG_CONFIG_HOME: folder.path });

test("the file of the login is below XDG_CONFIG_HOME, else below the home", () => {
  expect(loginPath({ XDG_CONFIG_HOME: "/x", HOME: "/h" })).toBe("/x/heliograph/login.json");
  expect(loginPath({ XDG_CONFIG_HOME: "", HOME: "/h" })).toBe("/h/.config/heliograph/login.json");
});

test("without a file there is no login", async () => {
  expect(await readLogin(environment())).toBeUndefined();
});

test.each([
  { url: "https://heliograph.example", tokenFile: "/run/token" },
  { kubernetes: { context: "one", namespace: "shop", serviceAccount: "heliograph-cli" } },
])("a login is read as it was written: %j", async (login) => {
  await writeLogin(login, environment());
  expect(await readLogin(environment())).toEqual(login);
  expect((await stat(loginPath(environment()))).mode & 0o777).toBe(0o600);
});

test.each(["", "{", "null", "[]", '{"url":1}', '{"kubernetes":{}}', "x".repeat(20_000)])(
  "a file with %j is refused with what to do",
  async (text) => {
    const path = loginPath(environment());
    await mkdir(dirname(path));
    await writeFile(path, text);
    await expect(readLogin(environment())).rejects.toThrow("run heliograph login again");
  },
);
