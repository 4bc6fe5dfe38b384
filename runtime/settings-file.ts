import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseSettings } from "./config/parse-settings.ts";
import type { IssuerSettings, Settings } from "./config/settings.ts";
import { defaultSettings } from "./config/settings-schema.ts";
import { startStep } from "./start-error.ts";

/** Settings of a file; the defaults without one. Files of an issuer are relative to it. @throws StartError `settings` */
export async function readSettingsFile(file: string | undefined): Promise<Settings> {
  if (file === undefined) return defaultSettings;
  return startStep("settings", `the settings ${file} cannot be used`, async () => {
    const settings = parseSettings(await readFile(file, "utf8"), file);
    return { ...settings, issuers: settings.issuers.map((issuer) => placed(issuer, dirname(file))) };
  });
}

function placed(issuer: IssuerSettings, folder: string): IssuerSettings {
  const files = (["jwksFile", "jwksCaFile", "jwksTokenFile"] as const).flatMap((name) => {
    const path = issuer[name];
    return path === undefined ? [] : [[name, resolve(folder, path)] as const];
  });
  return { ...issuer, ...Object.fromEntries(files) };
}
