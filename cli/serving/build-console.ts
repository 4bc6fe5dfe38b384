import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { say } from "../api/terminal.ts";

const inRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const buildMsMax = 60_000;

/** Builds the console in a checkout that has none yet. Packages bring it; without it the API works as well. */
export async function buildConsole(signal: AbortSignal): Promise<void> {
  const [config, builder] = [inRoot("console/vite.config.ts"), inRoot("node_modules/vite/bin/vite.js")];
  if (existsSync(inRoot("dist/console/index.html")) || !existsSync(config) || !existsSync(builder)) return;
  const args = [builder, "build", "--config", config, "--configLoader", "native", "--logLevel", "error"];
  await promisify(execFile)(process.execPath, args, { timeout: buildMsMax, signal }).catch(() => {
    if (!signal.aborted) say("The console was not built; `npm run console` says why.");
  });
}
