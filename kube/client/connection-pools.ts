import { overlappingConnector, type ConnectorOptions } from "../../network/undici-connector.ts";
import { Agent, type Dispatcher, Pool, ProxyAgent } from "undici";
import type { Credentials } from "./credentials.ts";

/** Names of the pools. Calls, the Lease and watches never wait for each other's connections. */
export type PoolName = "calls" | "lease" | "watches";

/** Connections to one API server with one set of credentials. */
export type ConnectionPools = Readonly<Record<PoolName, Dispatcher>>;

/**
 * Bounds on connections. A request without a free connection waits within its deadline. Calls: more than the concurrent
 * workers and reads of Secrets. Watches: each holds a connection for minutes, and each listed namespace has four.
 */
export const connectionsMax: Readonly<Record<PoolName, number>> = { calls: 256, lease: 2, watches: 16_384 };

/** Longer than the pause between two renewals of a Lease, shorter than the idle bound of the API server. */
const keepAliveMs = 30_000;
/** Time without traffic after which TCP probes a connection, once a second. Ten lost probes end it. */
const probeAfterMs = 15_000;

/** @throws Error for a proxy of a kind that is not supported */
export function openPools(credentials: Credentials, connectTimeoutMs: number): ConnectionPools {
  const open = (name: PoolName): Dispatcher => dispatcherOf(credentials, connectTimeoutMs, connectionsMax[name]);
  return { calls: open("calls"), lease: open("lease"), watches: open("watches") };
}

/** Resolves when the last running request has ended. */
export async function closePools(pools: ConnectionPools): Promise<void> {
  await Promise.all(Object.values(pools).map((dispatcher) => dispatcher.close()));
}

/** Ends every connection at once. */
export async function destroyPools(pools: ConnectionPools): Promise<void> {
  await Promise.all(Object.values(pools).map((dispatcher) => dispatcher.destroy()));
}

function dispatcherOf({ connection }: Credentials, timeout: number, connections: number): Dispatcher {
  // HTTP/1.1: a hanging connection of a watch then affects no other request. The caller bounds responses, since
  // watches and calls have different bounds.
  const common = { allowH2: false, connections, keepAliveTimeout: keepAliveMs, headersTimeout: 0, bodyTimeout: 0 };
  switch (connection.type) {
    case "agent":
      return new Agent({ ...common, connect: overlappingConnector(connectOptions(connection.connect, timeout)) });
    case "none":
      return new Agent({ ...common, connect: overlappingConnector(connectOptions({}, timeout)) });
    case "proxy":
      return new ProxyAgent({
        ...common,
        uri: connection.uri,
        clientFactory: (origin, options) =>
          new Pool(origin, { ...options, connect: overlappingConnector(connectOptions({}, timeout)) }),
        requestTls: connectOptions(connection.requestTls, timeout),
      });
    case "socks":
      throw new Error("a SOCKS proxy to the API server is not supported");
  }
}

/** TLS options in the type of undici; the two packages type absent members differently. */
function connectOptions(tls: object, timeout: number): ConnectorOptions {
  return { ...tls, timeout, allowH2: false, keepAliveInitialDelay: probeAfterMs };
}
