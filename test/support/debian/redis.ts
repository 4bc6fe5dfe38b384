import { createConnection } from "node:net";
import { once } from "node:events";
import type { DebianServer } from "../../tools/debian-server.ts";
import { freePort } from "../free-port.ts";
import { startServerProcess, type ServerProcess } from "../server-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../temp-folder.ts";

/** A real Redis on 127.0.0.1 that keeps its data in memory. */
export interface RedisHandle {
  readonly url: string;
  stop(): Promise<void>;
}

const startTriesMax = 3;
const responseMsMax = 2_000;

/**
 * Starts a Redis and resolves when it answers.
 *
 * @param found the result of `findDebianServer("redis-server")`
 * @throws Error with the last lines of its log when it does not come up
 */
export async function startRedis(found: DebianServer): Promise<RedisHandle> {
  if ("missing" in found) throw new Error(found.missing);
  const folder = await temporaryFolder("redis");
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const settings = { bind: "127.0.0.1", port, save: "", appendonly: "no", dir: folder.path };
    try {
      const server = await startServerProcess({
        name: "redis-server",
        command: found.command,
        env: found.env,
        args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
        ready: () => answers(port),
      });
      return { url: `redis://127.0.0.1:${port}`, stop: () => stopAll(server, folder) };
    } catch (error) {
      if (String(error).includes("Address already in use") && tries < startTriesMax) continue;
      await folder.remove();
      throw error;
    }
  }
}

async function stopAll(server: ServerProcess, folder: TemporaryFolder): Promise<void> {
  await server.stop();
  await folder.remove();
}

async function answers(port: number): Promise<boolean> {
  const socket = createConnection({ host: "127.0.0.1", port });
  try {
    socket.setTimeout(responseMsMax, () => socket.destroy(new Error("no answer")));
    socket.write("PING\r\n");
    const [chunk] = (await once(socket, "data")) as [Buffer];
    return chunk.toString() === "+PONG\r\n";
  } finally {
    socket.destroy();
  }
}
