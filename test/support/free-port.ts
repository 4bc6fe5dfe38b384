import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that Linux gives to sockets without one, so that no server of another test gets it meanwhile. */
const [first, end] = [20_000, 32_000];
const triesMax = 20;

/**
 * A port of 127.0.0.1 that was free a moment ago, for servers that cannot report a port they chose themselves. Somebody
 * else may take it first, so the start of a server on it must be ready to try another.
 */
export async function freePort(tries = 1): Promise<number> {
  const port = randomInt(first, end);
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  } catch (error) {
    if (tries >= triesMax) throw error;
    return freePort(tries + 1);
  }
  server.close();
  await once(server, "close");
  return port;
}
