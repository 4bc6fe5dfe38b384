import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { startServerProcess } from "../support/server-process.ts";
import { resolveTool } from "../tools/resolve.ts";
import { succeed } from "../tools/run.ts";

const requestMsMax = 2_000;
const craneMsMax = 60_000;

/** A real registry on 127.0.0.1, empty at first. */
export interface LocalRegistry {
  /** Host and port. */
  readonly host: string;
  /** Runs crane against it; answers the last line that it printed. @throws Error with crane's last lines */
  crane(args: readonly string[]): Promise<string>;
  /** Packs one file into a layer, and answers the path of the archive. */
  layer(name: string, text: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a registry. @param folder for what it stores and for layers */
export async function startRegistry(folder: string): Promise<LocalRegistry> {
  const command = await resolveTool("crane");
  const host = `127.0.0.1:${await freePort()}`;
  const storage = join(folder, "blobs");
  await mkdir(storage, { recursive: true });
  const server = await startServerProcess({
    name: "registry",
    command,
    args: ["registry", "serve", "--address", host, "--disk", storage],
    ready: async () => (await fetch(`http://${host}/v2/`, { signal: AbortSignal.timeout(requestMsMax) })).ok,
  });
  return {
    host,
    crane: async (args) => {
      const output = await succeed(command, [...args, "--insecure"], { timeoutMs: craneMsMax });
      return output.trim().split("\n").at(-1) ?? "";
    },
    layer: async (name, text) => {
      await writeFile(join(folder, name), text);
      const archive = join(folder, `${name}.tar`);
      await succeed("tar", ["--create", "--file", archive, "--directory", folder, name], { timeoutMs: craneMsMax });
      return archive;
    },
    stop: () => server.stop(),
  };
}
