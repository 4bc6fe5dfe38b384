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
  if (code === "EACCES") return `this user does not have permission to listen on ${place}`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return `${place} is not an address of this machine`;
  return message;
}

const sweepMs = 50;

/**
 * Stops a server: rejects new connections, lets running requests finish and closes the rest after `drainMs`. Resolves
 * when every connection is closed.
 */
export async function stopServer(app: FastifyInstance, drainMs: number): Promise<void> {
  // A connection that was busy at the start of the stop would otherwise stay open until its keep-alive ends.
  const sweep = setInterval(() => app.server.closeIdleConnections(), sweepMs);
  const cut = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

/** Bounds of an HTTP server. */
export interface HttpLimits {
  /** Request target, in characters. */
  readonly targetLengthMax: number;
  /**
   * The same below `/prometheus`: an expression, or a `match[]`, of 8,192 characters whose escapes take three each.
   */
  readonly prometheusTargetLengthMax: number;
  /** Request line and headers together, in bytes. */
  readonly headerBytesMax: number;
  /** Value of one path parameter, in characters. */
  readonly segmentLengthMax: number;
  /** Time for the headers of a request to arrive. */
  readonly headersTimeoutMs: number;
  /** Time for a whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** Period at which connections are checked against these two timeouts. */
  readonly timeoutCheckMs: number;
  /** Time from a request to its response. */
  readonly responseTimeoutMs: number;
  /**
   * Time for which an idle connection is kept. It exceeds the 60 s of common load balancers, so that they close first.
   */
  readonly keepAliveMs: number;
  /**
   * Time without a byte after which a connection with a running request is closed: a caller that does not read must not
   * hold a response.
   */
  readonly silenceMs: number;
  readonly connectionsMax: number;
}

/** @default of {@link HttpLimits} */
export const httpLimits: HttpLimits = {
  targetLengthMax: 8192,
  prometheusTargetLengthMax: 32_768,
  headerBytesMax: 49_152,
  segmentLengthMax: 512,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  timeoutCheckMs: 1000,
  responseTimeoutMs: 30_000,
  keepAliveMs: 65_000,
  silenceMs: 60_000,
  connectionsMax: 10_000,
};
