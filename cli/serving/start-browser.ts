import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Environment } from "../command-line/given.ts";

/** The program that opens a file or an address in the user's browser; undefined where no screen is. */
export function findBrowserStarter(environment: Environment, platform: NodeJS.Platform): string | undefined {
  const hasScreen = [environment["DISPLAY"], environment["WAYLAND_DISPLAY"]].some((name) => (name ?? "") !== "");
  if (platform !== "darwin" && !hasScreen) return undefined;
  const name = platform === "darwin" ? "open" : "xdg-open";
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** Starts the browser and does not wait for it. A browser that does not start leaves the printed address. */
export function startBrowser(starter: string, target: string): void {
  const child = spawn(starter, [target], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
