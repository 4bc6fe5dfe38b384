import type { Dispatcher } from "undici";
import {
  Agent,
  type ConnectorOptions,
  overlappingConnector,
  Pool,
  ProxyAgent,
  request,
} from "../../network/undici-connector.ts";
import { type Clock, untilAborted } from "../../limits/clock.ts";
import type { ClusterAccess, Credentials } from "./credentials.ts";
import { KubeError } from "./kube-error.ts";

/** One request to the API server, without connection and credentials. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Connection pool of the request. */
  readonly pool: PoolName;
  /** Ends the request, its body and its wait for a connection. */
  readonly signal: AbortSignal;
}

/** A response whose body is not read yet. */
export interface TransportResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Dispatcher.ResponseData["body"];
}

/** Options of the connections. */
interface TransportOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  /** Age at which the credentials' files are read again. @default 10 s */
  readonly credentialsAgeMsMax?: number;
}

/** Bound on the TCP and TLS handshakes of one connection. */
const connectTimeoutMs = 10_000;
const credentialsAgeMsMaxDefault = 10_000;

interface Kept {
  readonly credentials: Credentials;
  readonly pools: ConnectionPools;
  readonly readAtMs: number;
}

/** Names of the pools. Calls, the Lease and watches never wait for each other's connections. */
export type PoolName = "calls" | "lease" | "watches";

/** Connections to one API server with one set of credentials. */
type ConnectionPools = Readonly<Record<PoolName, Dispatcher>>;

/**
 * Bounds on connections. A request without a free connection waits within its deadline. Calls: more than the concurrent
 * workers and reads of Secrets. Watches: each holds a connection for minutes, and each listed namespace has four.
 */
export const connectionsMax: Readonly<Record<PoolName, number>> = { calls: 256, lease: 2, watches: 16_384 };

/** Longer than the pause between two renewals of a Lease, shorter than the idle bound of the API server. */
const keepAliveMs = 30_000;
/** Time without traffic after which TCP probes a connection, once a second. Ten lost probes end it. */
const probeAfterMs = 15_000;

/**
 * Sends requests over kept connections; the client library would make a TLS handshake for every call. After a change of
 * the CA or client certificate, new requests get new connections, and the old ones end with their last request. A new
 * token only changes the header. After a 401 the files are read again before the next request.
 */
export class Transport {
  readonly #access: ClusterAccess;
  readonly #options: TransportOptions;
  #kept: Kept | undefined;
  #reading: Promise<Kept> | undefined;
  #mustRead = true;
  /** Connections of earlier credentials that still have running requests. */
  readonly #retiring = new Set<ConnectionPools>();

  constructor(access: ClusterAccess, options: TransportOptions) {
    this.#access = access;
    this.#options = options;
  }

  /** @throws KubeError `transient` when there is no response, `aborted` when the signal ended it */
  async send(wanted: TransportRequest): Promise<TransportResponse> {
    try {
      const { credentials, pools } = await untilAborted(this.#current(), wanted.signal);
      const sent = request(credentials.server + wanted.path, {
        dispatcher: pools[wanted.pool],
        method: wanted.method,
        headers: { "user-agent": this.#options.userAgent, ...credentials.headers, ...wanted.headers },
        body: wanted.body ?? null,
        signal: wanted.signal,
      });
      // undici checks a signal only once a request has a connection.
      const { statusCode, headers, body } = await untilAborted(sent, wanted.signal);
      if (statusCode === 401) this.#mustRead = true;
      const retryAfter = headers["retry-after"];
      return { status: statusCode, retryAfter: typeof retryAfter === "string" ? retryAfter : undefined, body };
    } catch (error) {
      // A failed handshake can mean a changed CA.
      if (!wanted.signal.aborted) this.#mustRead = true;
      throw brokenTransport(`${wanted.method} ${wanted.path}`, error, wanted.signal);
    }
  }

  /** Ends every connection at once, watches included. */
  async close(): Promise<void> {
    const all = [...this.#retiring, ...(this.#kept === undefined ? [] : [this.#kept.pools])];
    this.#kept = undefined;
    this.#mustRead = true;
    await Promise.all(all.map(destroyPools));
  }

  async #current(): Promise<Kept> {
    const ageMsMax = this.#options.credentialsAgeMsMax ?? credentialsAgeMsMaxDefault;
    const kept = this.#kept;
    if (kept !== undefined && !this.#mustRead && this.#options.clock.nowMs() - kept.readAtMs < ageMsMax) return kept;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return await this.#reading;
  }

  async #read(): Promise<Kept> {
    const credentials = await this.#access.read();
    this.#mustRead = false;
    const before = this.#kept;
    const same = before !== undefined && before.credentials.fingerprint === credentials.fingerprint;
    const pools = same ? before.pools : openPools(credentials, connectTimeoutMs);
    this.#kept = { credentials, pools, readAtMs: this.#options.clock.nowMs() };
    if (before !== undefined && !same) this.#retire(before.pools);
    return this.#kept;
  }

  #retire(pools: ConnectionPools): void {
    this.#retiring.add(pools);
    const gone = (): void => {
      this.#retiring.delete(pools);
    };
    closePools(pools).then(gone, gone);
  }
}

/** Builds the error of a broken connection or of an aborted signal. */
export function brokenTransport(what: string, cause: unknown, signal: AbortSignal): KubeError {
  if (cause instanceof KubeError) return cause;
  if (signal.aborted && signal.reason instanceof KubeError) return signal.reason;
  if (signal.aborted) return new KubeError("aborted", `${what}: ended by the caller`, { cause });
  const code = (cause as { code?: unknown } | null)?.code;
  const message = cause instanceof Error ? cause.message : String(cause);
  const reason = typeof code === "string" ? code : "Broken";
  return new KubeError("transient", `${what}: ${reason} ${message}`, { reason, cause });
}

/** @throws Error for a proxy of a kind that is not supported */
export function openPools(credentials: Credentials, timeoutMs: number): ConnectionPools {
  const open = (name: PoolName): Dispatcher => dispatcherOf(credentials, timeoutMs, connectionsMax[name]);
  return { calls: open("calls"), lease: open("lease"), watches: open("watches") };
}

/** Resolves when the last running request has ended. */
async function closePools(pools: ConnectionPools): Promise<void> {
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
