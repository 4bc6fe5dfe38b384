import { setTimeout as wait } from "node:timers/promises";
import type { Dispatcher, Pool as Connections } from "undici";
import type { PrometheusConfig } from "../../../crds/config.ts";
import { isMetadataAddress } from "../../../crds/networks.ts";
import { overlappingConnector, Pool } from "../../../network/undici-connector.ts";
import type { ByteBudget } from "../limits/fan-out.ts";
import { StoreError } from "../store-error.ts";
import type { StoreSecrets } from "../store-secrets.ts";
import { type ApiResponse, parseResponse } from "./api-response.ts";
import type { PointGrid } from "./matrix.ts";

/** Maximum concurrent requests of queries to one store. Further ones wait inside their own deadline. */
export const storeRequestsMax = 16;
/** Connections for the probe, whose requests never wait for those of queries. */
const probeConnections = 4;
/** Connections for background reads, which are sequential. */
const backgroundConnections = 1;
const connectTimeoutMs = 1_000;
/** A TLS handshake adds round trips, and work of the CPUs on both sides, which may be busy. */
const tlsConnectTimeoutMs = 3_000;
const keepAliveMs = 30_000;

/** The caller and the limits of one request to a store. */
export interface StoreCall {
  readonly signal: AbortSignal;
  /** Replaces `signal` once the request is sent, for a result that later requests can use. @default `signal` */
  readonly sentSignal?: AbortSignal | undefined;
  /** The tenant in the header of a store with the tenancy `StoreHeader`; undefined for any other store. */
  readonly tenant: string | undefined;
  readonly bytes: ByteBudget;
  /** The API request that caused this one; undefined without a single one. */
  readonly origin?: CallOrigin | undefined;
  /** W3C trace context of the request. @default none */
  readonly traceparent?: string | undefined;
}

/** The data of an API request that a runtime in another region receives. */
export interface CallOrigin {
  readonly correlationId: string;
  /** Deadline of the response, on the clock of `performance.now`. */
  readonly endsAtMs: number;
}

/**
 * Posts a form to a path below `/api/v1/`. It rejects with `StoreError` or with the signal's reason.
 *
 * @param grid the points of a range query for numbers
 */
export type Post = (
  path: string,
  form: Readonly<Record<string, string>>,
  call: StoreCall,
  grid?: PointGrid,
) => Promise<ApiResponse>;

/** Connections to one store. */
interface StoreHttp {
  readonly post: Post;
  /** Like {@link post}, for paths that have no `POST`. */
  readonly get: Post;
  /** Closes the connections: at once, or after the running requests. */
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** Creates the connections of a store. They send nothing before the first request. */
export function createStoreHttp(
  config: PrometheusConfig,
  secrets: StoreSecrets,
  send: StoreExchange = exchange,
): StoreHttp {
  const { pool, base } = openPool(config, secrets);
  const fixed = { ...requestHeaders, ...config.headers, ...secrets.headers };
  const headersOf = (call: StoreCall): Record<string, string> => {
    const tenant =
      config.tenantHeader === undefined || call.tenant === undefined ? {} : { [config.tenantHeader]: call.tenant };
    return { ...fixed, ...tenant, ...traceHeaders(call) };
  };
  return {
    async post(path, form, call, grid) {
      const options = {
        path: `${base}/api/v1/${path}`,
        headers: headersOf(call),
        body: new URLSearchParams(form).toString(),
      };
      const { status, body } = await send(pool, options, call);
      try {
        return parseResponse(status, body, grid);
      } catch (error) {
        throw quotedLabel.test(form["query"] ?? "") ? withoutQuotes(error) : error;
      }
    },
    async get(path, form, call, grid) {
      // Some servers, and some that verify signatures, read a plus sign in a query as itself.
      const query = new URLSearchParams(form).toString().replaceAll("+", "%20");
      const { "content-type": _none, ...headers } = headersOf(call);
      const options = { path: `${base}/api/v1/${path}?${query}`, headers, method: "GET" as const };
      const { status, body } = await send(pool, options, call);
      return parseResponse(status, body, grid);
    },
    close: ({ atOnce }) => (atOnce ? pool.destroy() : pool.close()),
  };
}

/** A label in quotes: in a grouping, or before an operator. */
const quotedLabel = /\b(?:by|on)\([^()]*"|[{,]"(?:[^"\\]|\\.)*"[=!]/u;

/** Prometheus 2 and VictoriaMetrics reject names of labels in quotes when they parse a query. */
function withoutQuotes(error: unknown): unknown {
  if (!(error instanceof StoreError) || error.kind !== "refused" || !/pars|unexpected/u.test(error.message))
    return error;
  const publicDetail =
    "the store does not support quoted label names, which the metric requires; upgrade it or rename the label";
  return new StoreError("unsupported", `${publicDetail}: ${error.message}`, { cause: error, publicDetail });
}

/** The header that puts the spans of the server into the trace of the call. */
export function traceHeaders({ traceparent }: Pick<StoreCall, "traceparent">): Readonly<Record<string, string>> {
  return traceparent === undefined ? {} : { traceparent };
}

/** Creates the connections to one server. `base` is the path of its URL without a slash at the end. */
export function openPool(
  { url, timeoutMs }: Pick<PrometheusConfig, "url" | "timeoutMs">,
  { tls }: Pick<StoreSecrets, "tls">,
): { readonly pool: Connections; readonly base: string } {
  const { origin, pathname, protocol } = new URL(url);
  const timeout = protocol === "https:" ? tlsConnectTimeoutMs : connectTimeoutMs;
  const pool = new Pool(origin, {
    connections: storeRequestsMax + probeConnections + backgroundConnections,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    connect: overlappingConnector({ timeout, rejects: isMetadataAddress, ...tls }),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  return { pool, base: pathname.endsWith("/") ? pathname.slice(0, -1) : pathname };
}

const requestHeaders = {
  "content-type": "application/x-www-form-urlencoded",
  accept: "application/json",
  // The CPU time for compression in the store costs more than the bytes on the network.
  "accept-encoding": "identity",
};

/** The request to one server. */
export type SendOptions = Pick<Dispatcher.RequestOptions, "path"> & {
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** @default POST */
  readonly method?: "GET" | "POST";
};

/** A complete response of any status. */
export interface Exchanged {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Sends a request of a call and reads the response. */
export type StoreExchange = (pool: Connections, options: SendOptions, call: StoreCall) => Promise<Exchanged>;

/** Sends and reads the whole response. @throws StoreError `late`, `unreachable`, `too_large`; the signal's reason */
export async function exchange(
  pool: Connections,
  options: SendOptions,
  { signal: callSignal, sentSignal: signal = callSignal, bytes }: Pick<StoreCall, "signal" | "sentSignal" | "bytes">,
): Promise<Exchanged> {
  try {
    const response = await pool.request({ method: "POST", ...options, signal });
    return { status: response.statusCode, headers: response.headers, body: await readBody(response, bytes) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof StoreError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    if (isTimeout(error)) throw new StoreError("late", message, { cause: error, isUnconnected: isOfConnecting(error) });
    throw new StoreError("unreachable", message, { cause: error, isPassing: true });
  }
}

async function readBody({ body, headers }: Dispatcher.ResponseData, bytes: ByteBudget): Promise<Buffer> {
  try {
    bytes.check(Number(headers["content-length"] ?? 0));
    const chunks: Buffer[] = [];
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes.take(chunk.length);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    // The rest of a too large response is not read. This closes its connection.
    body.destroy();
    throw error;
  }
}

function isOfConnecting(error: unknown): boolean {
  return codeOf(error) === "UND_ERR_CONNECT_TIMEOUT";
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code;
}

function isTimeout(error: unknown): boolean {
  const code = codeOf(error);
  return code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT" || isOfConnecting(error);
}

/** Wait before the one retry: long enough to replace a connection, short compared with any deadline. */
const waitMsMin = 20;
const waitMsMax = 60;

/**
 * Runs a read, and runs it once more after a transient failure while the budget has a retry. Reads change nothing, so
 * that a repeated one costs load only. A read that was late is not repeated.
 */
export async function retried<Result>(
  read: () => Promise<Result>,
  signal: AbortSignal,
  budget: RetryBudget,
): Promise<Result> {
  budget.earn();
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    const mayRetry = error instanceof StoreError && error.isPassing && budget.spend();
    if (!mayRetry) throw error;
  }
  await waitUnlessAborted(waitMsMin + Math.random() * (waitMsMax - waitMsMin), signal);
  return read();
}

async function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}

/** Most consecutive retries. */
const retriesMax = 10;
/** Requests per additional retry. It bounds the load that retries add to a failing store. */
const requestsPerRetry = 10;

/** The retries that may be sent to one store. */
export interface RetryBudget {
  /** Counts a request that is not a retry. */
  earn(): void;
  /** Takes one retry from the budget; false when the budget is empty. */
  spend(): boolean;
}

/** Creates a full budget. */
export function createRetryBudget(): RetryBudget {
  let retries = retriesMax;
  return {
    earn() {
      retries = Math.min(retriesMax, retries + 1 / requestsPerRetry);
    },
    spend() {
      if (retries < 1) return false;
      retries -= 1;
      return true;
    },
  };
}
