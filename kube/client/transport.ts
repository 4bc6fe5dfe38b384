import { type Dispatcher, request } from "undici";
import type { Clock } from "../../limits/clock.ts";
import type { ClusterAccess } from "./credentials.ts";
import { closePools, type ConnectionPools, destroyPools, openPools, type PoolName } from "./connection-pools.ts";
import type { Credentials } from "./credentials.ts";
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
      const { credentials, pools } = await endingWith(wanted.signal, this.#current());
      const sent = request(credentials.server + wanted.path, {
        dispatcher: pools[wanted.pool],
        method: wanted.method,
        headers: { "user-agent": this.#options.userAgent, ...credentials.headers, ...wanted.headers },
        body: wanted.body ?? null,
        signal: wanted.signal,
      });
      const { statusCode, headers, body } = await endingWith(wanted.signal, sent);
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

/** Ends the work with the signal. undici checks a signal only once a request has a connection. */
async function endingWith<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([work, ended]);
  } finally {
    signal.removeEventListener("abort", end);
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
