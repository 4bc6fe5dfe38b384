import { Agent, type buildConnector, type Dispatcher, ProxyAgent } from "undici";
import type { Credentials } from "./credentials.ts";

/** Requests of one pool never wait for the connections of another: calls, the Lease and watches are apart. */
export type PoolName = "calls" | "lease" | "watches";

/** The connections to one API server with one set of credentials. */
export type ConnectionPools = Readonly<Record<PoolName, Dispatcher>>;

/**
 * Bounds on connections. What does not get one waits within its deadline. Calls: more than workers and reads of Secrets
 * at once. Watches: each holds one for minutes, and there are four for each namespace that is listed.
 */
export const connectionsMax: Readonly<Record<PoolName, number>> = { calls: 256, lease: 2, watches: 16_384 };

/** Longer than the pause between two renewals of a lease, shorter than the API server's own idle bound. */
const keepAliveMs = 30_000;
/** After so long without traffic a connection is probed, once a second; ten probes later it is broken. */
const probeAfterMs = 15_000;

/** @throws Error for a proxy of a kind that is not supported */
export function openPools(credentials: Credentials, connectTimeoutMs: number): ConnectionPools {
  const open = (name: PoolName): Dispatcher => dispatcherOf(credentials, connectTimeoutMs, connectionsMax[name]);
  return { calls: open("calls"), lease: open("lease"), watches: open("watches") };
}

/** Resolves when the last request under way has ended. */
export async function closePools(pools: ConnectionPools): Promise<void> {
  await Promise.all(Object.values(pools).map((dispatcher) => dispatcher.close()));
}

/** Ends every connection at once. */
export async function destroyPools(pools: ConnectionPools): Promise<void> {
  await Promise.all(Object.values(pools).map((dispatcher) => dispatcher.destroy()));
}

function dispatcherOf({ connection }: Credentials, timeout: number, connections: number): Dispatcher {
  // HTTP/1.1, so that a watch whose connection hangs takes nothing else with it. The bounds on answers are the
  // caller's: it knows a watch from a call.
  const common = { allowH2: false, connections, keepAliveTimeout: keepAliveMs, headersTimeout: 0, bodyTimeout: 0 };
  switch (connection.type) {
    case "agent":
      return new Agent({ ...common, connect: connectOptions(connection.connect, timeout) });
    case "none":
      return new Agent({ ...common, connect: connectOptions({}, timeout) });
    case "proxy":
      return new ProxyAgent({
        ...common,
        uri: connection.uri,
        requestTls: connectOptions(connection.requestTls, timeout),
      });
    case "socks":
      throw new Error("a SOCKS proxy to the API server is not supported");
  }
}

/** The same TLS options in the client's words; the two packages only differ in how they spell what is absent. */
function connectOptions(tls: object, timeout: number): buildConnector.BuildOptions {
  return { ...tls, timeout, keepAlive: true, keepAliveInitialDelay: probeAfterMs };
}
