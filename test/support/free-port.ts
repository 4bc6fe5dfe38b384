import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port of 127.0.0.1 that was free a moment ago, for servers that cannot report a port they chose themselves. Somebody
 * else may take it first, so the start of a server on it must be ready to try another.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("the listening socket has no port");
  return address.port;
}
