import { Agent, type buildConnector, type Dispatcher, ProxyAgent, request } from "undici";
import type { Clock } from "./clock.ts";
import { type ClusterAccess, currentCredentials } from "./cluster-access.ts";
import type { Credentials } from "./credentials.ts";
import { KubeError } from "./kube-error.ts";

/** One request to the API server, before anything about connections and credentials is known. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Ends the request, its body included. */
  readonly signal: AbortSignal;
}

/** An answer whose body is still to be read. */
export interface TransportAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Dispatcher.ResponseData["body"];
}

/** Sends requests over connections that are kept. */
export interface Transport {
  /** @throws KubeError `transient` when there is no answer, `aborted` when the signal ended it */
  send(request: TransportRequest): Promise<TransportAnswer>;
  /** Ends every connection at once, watches included. */
  close(): Promise<void>;
}

/** How connections are made and kept. */
export interface TransportOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  /** Bound on one connection's TCP and TLS handshakes. @default 10 s */
  readonly connectTimeoutMs?: number;
  /** The files of the credentials are read again when they are older than this. @default 10 s */
  readonly credentialsAgeMsMax?: number;
}

const connectTimeoutMsDefault = 10_000;
const credentialsAgeMsMaxDefault = 10_000;
/** Longer than the pause between two renewals of a lease, shorter than the API server's own idle bound. */
const keepAliveMs = 30_000;
/** After so long without traffic a connection is probed, once a second; ten probes later it is broken. */
const probeAfterMs = 15_000;
/** A watch holds one connection; far more than an operator has of them and of workers. */
const connectionsMax = 256;

interface Kept {
  readonly credentials: Credentials;
  readonly dispatcher: Dispatcher;
  readonly readAtMs: number;
}

/**
 * Keeps one dispatcher per kubeconfig: the library would make one, and so a TLS handshake, for every call. When the CA or
 * the client certificate changes, new requests get a new dispatcher and the old one ends with its last request; a new
 * token is simply the next request's header. After a 401 the files are read again before the next request.
 */
export function createTransport(access: ClusterAccess, options: TransportOptions): Transport {
  return new KeepingTransport(access, options);
}

class KeepingTransport implements Transport {
  readonly #access: ClusterAccess;
  readonly #options: TransportOptions;
  #kept: Kept | undefined;
  #reading: Promise<Kept> | undefined;
  #mustRead = true;
  /** Dispatchers of earlier credentials whose last requests are still under way. */
  readonly #retiring = new Set<Dispatcher>();

  constructor(access: ClusterAccess, options: TransportOptions) {
    this.#access = access;
    this.#options = options;
  }

  async send(wanted: TransportRequest): Promise<TransportAnswer> {
    try {
      const { credentials, dispatcher } = await this.#current();
      const { statusCode, headers, body } = await request(credentials.server + wanted.path, {
        dispatcher,
        method: wanted.method,
        headers: { "user-agent": this.#options.userAgent, ...credentials.headers, ...wanted.headers },
        body: wanted.body ?? null,
        signal: wanted.signal,
      });
      if (statusCode === 401) this.#mustRead = true;
      const retryAfter = headers["retry-after"];
      return { status: statusCode, retryAfter: typeof retryAfter === "string" ? retryAfter : undefined, body };
    } catch (error) {
      // A changed CA shows itself as a handshake that fails.
      if (!wanted.signal.aborted) this.#mustRead = true;
      throw brokenTransport(`${wanted.method} ${wanted.path}`, error, wanted.signal);
    }
  }

  async close(): Promise<void> {
    const dispatchers = [...this.#retiring, ...(this.#kept === undefined ? [] : [this.#kept.dispatcher])];
    this.#kept = undefined;
    this.#mustRead = true;
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.destroy()));
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
    const credentials = await currentCredentials(this.#access);
    this.#mustRead = false;
    const before = this.#kept;
    const same = before !== undefined && before.credentials.fingerprint === credentials.fingerprint;
    const dispatcher = same ? before.dispatcher : this.#dispatcherFor(credentials);
    this.#kept = { credentials, dispatcher, readAtMs: this.#options.clock.nowMs() };
    if (before !== undefined && !same) this.#retire(before.dispatcher);
    return this.#kept;
  }

  #retire(dispatcher: Dispatcher): void {
    this.#retiring.add(dispatcher);
    const gone = (): void => {
      this.#retiring.delete(dispatcher);
    };
    dispatcher.close().then(gone, gone);
  }

  #dispatcherFor({ connection }: Credentials): Dispatcher {
    const timeout = this.#options.connectTimeoutMs ?? connectTimeoutMsDefault;
    // HTTP/1.1, so that a watch whose connection hangs takes nothing else with it. The bounds on answers are the
    // caller's: it knows a watch from a call.
    const common = { allowH2: false, connections: connectionsMax, keepAliveTimeout: keepAliveMs, headersTimeout: 0, bodyTimeout: 0 };
    switch (connection.type) {
      case "agent":
        return new Agent({ ...common, connect: connectOptions(connection.connect, timeout) });
      case "none":
        return new Agent({ ...common, connect: connectOptions({}, timeout) });
      case "proxy":
        return new ProxyAgent({ ...common, uri: connection.uri, requestTls: connectOptions(connection.requestTls, timeout) });
      case "socks":
        throw new Error("a SOCKS proxy to the API server is not supported");
    }
  }
}

/** The same TLS options in the client's words; the two packages only differ in how they spell what is absent. */
function connectOptions(tls: object, timeout: number): buildConnector.BuildOptions {
  return { ...tls, timeout, keepAlive: true, keepAliveInitialDelay: probeAfterMs };
}

/** The error that a broken connection, or the end of the signal, means. */
export function brokenTransport(what: string, cause: unknown, signal: AbortSignal): KubeError {
  if (cause instanceof KubeError) return cause;
  if (signal.aborted && signal.reason instanceof KubeError) return signal.reason;
  if (signal.aborted) return new KubeError("aborted", `${what}: ended by the caller`, { cause });
  const code = (cause as { code?: unknown } | null)?.code;
  const message = cause instanceof Error ? cause.message : String(cause);
  const reason = typeof code === "string" ? code : "Broken";
  return new KubeError("transient", `${what}: ${reason} ${message}`, { reason, cause });
}
