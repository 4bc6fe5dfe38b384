import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseSettings } from "../config/settings/parse-settings.ts";
import type { Settings } from "../config/settings/settings.ts";
import { defaultSettings } from "../config/settings/settings-schema.ts";
import { startStep } from "./start-error.ts";

/**
 * Settings of a file; the defaults without one. Files that it names are relative to it. @throws StartError `settings`
 */
export async function readSettingsFile(file: string | undefined): Promise<Settings> {
  if (file === undefined) return defaultSettings;
  return startStep("settings", `the settings ${file} cannot be used`, async () => {
    const settings = parseSettings(await readFile(file, "utf8"), file);
    const { issuers, tls } = settings;
    const place = <T extends object>(part: T, names: readonly (keyof T & string)[]): T =>
      placed(part, names, dirname(file));
    return {
      ...settings,
      issuers: issuers.map((issuer) => place(issuer, ["jwksFile", "jwksCaFile", "jwksTokenFile"])),
      ...(tls === undefined ? {} : { tls: place(tls, ["certFile", "keyFile", "clientCaFile"]) }),
    };
  });
}

/** The same with the files of these names relative to the folder. */
function placed<T extends object>(part: T, names: readonly (keyof T & string)[], folder: string): T {
  const files = names.flatMap((name) => {
    const path = part[name];
    return typeof path === "string" ? [[name, resolve(folder, path)] as const] : [];
  });
  return { ...part, ...Object.fromEntries(files) };
}
