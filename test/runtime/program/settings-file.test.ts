import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { readSettingsFile } from "../../../runtime/program/program.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder("settings");
});

afterEach(async () => folder.remove());

describe("the settings file", () => {
  test("may be missing from the command line", async () => {
    expect(await readSettingsFile(undefined)).toEqual(defaultSettings);
  });

  test("places relative key files beside itself and leaves absolute ones alone", async () => {
    const file = join(folder.path, "settings.yaml");
    const issuers = ["keys.json", "/etc/keys.json"].map((jwksFile, index) => ({
      issuer: `i${index}`,
      audiences: ["a"],
      jwksFile,
    }));
    await writeFile(file, JSON.stringify({ issuers }));
    const settings = await readSettingsFile(file);
    expect(settings.issuers.map(({ jwksFile }) => jwksFile)).toEqual([
      join(folder.path, "keys.json"),
      "/etc/keys.json",
    ]);
  });

  test("places the files beside a URL of keys too", async () => {
    const file = join(folder.path, "settings.yaml");
    const issuer = {
      issuer: "i",
      audiences: ["a"],
      jwksUrl: "https://id.example/keys",
      jwksCaFile: "ca.crt",
      jwksTokenFile: "/run/token",
    };
    await writeFile(file, JSON.stringify({ issuers: [issuer] }));
    const settings = await readSettingsFile(file);
    expect(settings.issuers[0]).toMatchObject({ jwksCaFile: join(folder.path, "ca.crt"), jwksTokenFile: "/run/token" });
  });

  test("places the files of TLS too", async () => {
    const file = join(folder.path, "settings.yaml");
    await writeFile(file, JSON.stringify({ tls: { certFile: "tls.crt", keyFile: "/run/tls.key" } }));
    expect((await readSettingsFile(file)).tls).toEqual({
      certFile: join(folder.path, "tls.crt"),
      keyFile: "/run/tls.key",
    });
  });

  test("that is not there keeps the program from starting", async () => {
    await expect(readSettingsFile(join(folder.path, "none.yaml"))).rejects.toMatchObject({
      fault: "settings",
      message: expect.stringContaining("ENOENT"),
    });
  });
});
