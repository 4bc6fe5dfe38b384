import { once } from "node:events";
import { createServer } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance } from "fastify";

/** Every address of a machine, of both versions of IP. */
const everyAddress = "::";

/**
 * Opens a port and returns its URL.
 * @param host `::`, every address, becomes every IPv4 address if the machine has no IPv6
 * @param port 0 picks a free one
 * @throws Error with one sentence for the operator
 */
export async function listenServer(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    await app.listen({ host: await availableHost(host), port });
  } catch (cause) {
    throw new Error(sentenceOf(cause, `${host}:${port}`), { cause });
  }
  const address = app.server.address();
  if (typeof address !== "object" || address === null) throw new Error(`${host} has no port`);
  const shownHost = address.family === "IPv6" ? `[${address.address}]` : address.address;
  const scheme = app.server instanceof TlsServer ? "https" : "http";
  return `${scheme}://${shownHost}:${address.port}`;
}

/** The host to listen on. On a machine without IPv6, `::` becomes `0.0.0.0`. */
export async function availableHost(host: string): Promise<string> {
  if (host !== everyAddress) return host;
  const probe = createServer().listen(0, everyAddress);
  try {
    await once(probe, "listening");
    return everyAddress;
  } catch {
    return "0.0.0.0";
  } finally {
    probe.close();
  }
}

function sentenceOf(error: unknown, place: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return `${place} is in use by another program`;
  if (code === "EACCES") return `this user may not listen on ${place}`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return `this machine has no address ${place}`;
  return message;
}
