// Sending: one outbound HTTP request over guarded connections. It knows neither partners nor retries.

import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { NetworksConfig } from "../../../crds/config.ts";
import { Connections } from "./connections.ts";
import { guardedConnector, type Connector, type TlsIdentity } from "./guarded-connect.ts";
import { makeAttempt } from "./attempt.ts";
import { responseBodyBytesMax } from "./exchange.ts";
import { createAddressGuard, urlFault, type AddressGuard } from "./address-guard.ts";
import { maskOutcome } from "./mask.ts";
import type { AttemptOutcome } from "../settlement/outcome.ts";
import { createResolver, type Resolver } from "./dns.ts";

/** One request to a partner. */
export interface SendRequest {
  /** @default "POST" */
  readonly method?: "POST" | "OPTIONS";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Time limit of the whole attempt, from look-up to last byte. */
  readonly timeoutMs: number;
  /** Bytes of the response body that are read. @default {@link responseBodyBytesMax} */
  readonly responseBytesMax?: number;
  /** Networks in which the partner may be reached, besides the public Internet. */
  readonly networks: NetworksConfig;
  /** @default the roots of the system and no client certificate */
  readonly tls?: TlsIdentity;
  /** Aborts the attempt, with outcome `aborted`. */
  readonly signal?: AbortSignal;
  /** Asked after a new connection was opened. False: nothing is sent, and the outcome is `aborted`. @default true */
  readonly maySend?: () => boolean;
}

/** Sends attempts over connections that it keeps alive. */
export type Sender = ReturnType<typeof createSender>;

export interface SenderOptions {
  /** @default `/etc/hosts`, then the name servers of the system */
  readonly resolve?: Resolver;
  /** Time limit of look-up, TCP and TLS together. @default 5000 */
  readonly connectTimeoutMs?: number;
  /** Milliseconds of a monotonic clock, for the age of connection pools. @default performance.now */
  readonly monotonicMs?: () => number;
}

/**
 * Connections that requests with equal identity and networks share. Their number has no limit here: each request has a
 * connection at once, so that no partner waits for another. The limits of partners and of the pod (`workers/`) are
 * applied before a request begins.
 */
interface ConnectionPool {
  readonly connections: Connections;
  readonly connect: Connector;
  /** Milliseconds of the monotonic clock. */
  usedAtMs: number;
  /** Returns why this URL must not be requested. */
  readonly faultOf: (url: URL) => string | undefined;
}

/**
 * Time after the last request at which a pool is dropped: longer than the longest attempt, and than a connection stays
 * idle. So a pool in use is never dropped, and there are as many as partners used lately.
 */
const poolIdleMs = 120_000;
/** Shorter than the idle timeout of common servers. A server may name its own by `Keep-Alive: timeout=`. */
const idleMs = 4_000;
const idleMsMax = 60_000;
/** Age at which a connection is replaced, so that the addresses of its host are checked again. */
const connectionAgeMsMax = 300_000;

/** Creates a sender. It keeps connections open until it is closed. */
export function createSender(options: SenderOptions = {}) {
  const pools = new Map<string, ConnectionPool>();
  const resolve = options.resolve ?? createResolver();
  const nowMs = options.monotonicMs ?? (() => performance.now());
  const poolOf = (request: SendRequest): ConnectionPool => {
    const key = poolKey(request);
    const pool = pools.get(key) ?? createPool(request, { ...options, resolve });
    // The order of the map is the order of last use.
    pools.delete(key);
    pools.set(key, pool);
    pool.usedAtMs = nowMs();
    dropIdle(pools, pool.usedAtMs);
    return pool;
  };
  let isClosed = false;
  return {
    /** Makes one request. Never throws and never rejects. A redirect is returned like any other response. */
    send: async (request: SendRequest) => {
      const outcome = isClosed ? aborted() : await send(poolOf(request), request);
      return maskOutcome(outcome, request.headers, request.url);
    },
    /** Closes every connection; attempts under way fail. */
    close: async () => {
      isClosed = true;
      for (const { connections } of pools.values()) connections.destroy();
      pools.clear();
    },
  };
}

/** Keys of networks without TLS identity. The objects belong to the configuration and live as long. */
const plainKeys = new WeakMap<NetworksConfig, string>();

/** Partners share connections only when their certificates, keys and networks are equal. */
function poolKey(request: SendRequest): string {
  const known = request.tls === undefined ? plainKeys.get(request.networks) : undefined;
  if (known !== undefined) return known;
  const key = newPoolKey(request);
  if (request.tls === undefined) plainKeys.set(request.networks, key);
  return key;
}

function newPoolKey({ networks, tls }: SendRequest): string {
  const identity = tls === undefined ? "" : hash("sha256", JSON.stringify([tls.ca, tls.cert, tls.key]), "hex");
  return `${networks.allowPlaintext}|${networks.allowCidrs.join(",")}|${identity}`;
}

function createPool(
  { networks, tls }: SendRequest,
  { resolve, connectTimeoutMs = 5_000 }: SenderOptions & { readonly resolve: Resolver },
): ConnectionPool {
  const guard = createAddressGuard(networks);
  return {
    connections: new Connections({ idleMs, idleMsMax, ageMsMax: connectionAgeMsMax }),
    connect: guardedConnector({ guard, tls: tls ?? {}, resolve, timeoutMs: connectTimeoutMs }),
    usedAtMs: 0,
    faultOf: checkOnce(guard),
  };
}

/** Checks each URL object once. URLs belong to their partner and never change. */
function checkOnce(guard: AddressGuard): ConnectionPool["faultOf"] {
  const checked = new WeakMap<URL, { readonly fault: string | undefined }>();
  return (url) => {
    const known = checked.get(url) ?? { fault: urlFault(guard, url) };
    checked.set(url, known);
    return known.fault;
  };
}

function dropIdle(pools: Map<string, ConnectionPool>, nowMs: number): void {
  for (const [key, { connections, usedAtMs }] of pools) {
    if (nowMs - usedAtMs < poolIdleMs) return;
    pools.delete(key);
    connections.close();
  }
}

async function send({ connections, connect, faultOf }: ConnectionPool, request: SendRequest): Promise<AttemptOutcome> {
  const fault = faultOf(request.url);
  if (fault !== undefined) return { kind: "failure", reason: "guard", detail: fault, timings: { totalMs: 0 } };
  if (request.signal?.aborted === true) return aborted();
  const { outcome } = await makeAttempt(connections, connect, {
    ...request,
    method: request.method ?? "POST",
    responseBytesMax: request.responseBytesMax ?? responseBodyBytesMax,
  });
  // The responses of one turn are all read before the next requests are written, which takes fewer switches of tasks.
  await nextTurn();
  return outcome;
}

function aborted(): AttemptOutcome {
  return { kind: "failure", reason: "aborted", detail: "aborted before it began", timings: { totalMs: 0 } };
}
