import { Pool, type Dispatcher } from "undici";
import type { PrometheusConfig } from "../../../crds/config.ts";
import { parseResponse, type ApiResponse } from "./api-response.ts";
import type { ByteBudget } from "../limits/byte-budget.ts";
import type { PointGrid } from "./matrix.ts";
import { StoreError } from "../store-error.ts";
import type { StoreSecrets } from "../store-secrets.ts";

/** Connections to one store. Further requests wait their turn inside their own deadline. */
const connectionsMax = 16;
const connectTimeoutMs = 1_000;
const keepAliveMs = 30_000;

/** On whose behalf a request goes out and how much of its answer is read. */
export interface StoreCall {
  readonly signal: AbortSignal;
  /** Told to a store of the tenancy `StoreHeader`; undefined for a store that is told nothing. */
  readonly tenant: string | undefined;
  readonly bytes: ByteBudget;
  /** The request that it is made for; undefined: none in particular. */
  readonly origin?: CallOrigin | undefined;
}

/** What a runtime in another region is told of the request that made this one ask it. */
export interface CallOrigin {
  readonly correlationId: string;
  /** When the answer is of no more use, on the clock of `performance.now`. */
  readonly endsAtMs: number;
}

/**
 * One form to one path below `/api/v1/`. Rejects with `StoreError`, or with the signal's reason.
 *
 * @param grid of the points, for a range query for numbers
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
  /** Ends the connections: at once, or when the requests under way are answered. */
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** Nothing is sent before the first request. */
export function createStoreHttp(config: PrometheusConfig, secrets: StoreSecrets): StoreHttp {
  const { pool, base } = openPool(config, secrets);
  const fixed = { ...requestHeaders, ...config.headers, ...secrets.headers };
  return {
    async post(path, form, call, grid) {
      const tenant =
        config.tenantHeader === undefined || call.tenant === undefined ? {} : { [config.tenantHeader]: call.tenant };
      const options = {
        path: `${base}/api/v1/${path}`,
        headers: { ...fixed, ...tenant },
        body: new URLSearchParams(form).toString(),
      };
      const { status, body } = await exchange(pool, options, call);
      return parseResponse(status, body, grid);
    },
    close: ({ atOnce }) => (atOnce ? pool.destroy() : pool.close()),
  };
}

/** Connections to one server, and the path of its base URL without a slash at the end. Nothing is sent yet. */
export function openPool(
  { url, timeoutMs }: Pick<PrometheusConfig, "url" | "timeoutMs">,
  { tls }: Pick<StoreSecrets, "tls">,
): { readonly pool: Pool; readonly base: string } {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, {
    connections: connectionsMax,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    connect: { timeout: connectTimeoutMs, ...tls },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  return { pool, base: pathname.endsWith("/") ? pathname.slice(0, -1) : pathname };
}

const requestHeaders = {
  "content-type": "application/x-www-form-urlencoded",
  accept: "application/json",
  // Compressing costs the store more than the bytes cost the network between them.
  "accept-encoding": "identity",
};

/** What is sent to one server. */
type SendOptions = Pick<Dispatcher.RequestOptions, "path"> & {
  readonly headers: Record<string, string>;
  readonly body: string;
};

/** A whole answer, whatever its status is. */
export interface Exchanged {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Posts and reads the answer to its end. @throws StoreError `late`, `unreachable`, `too_large`; the signal's reason */
export async function exchange(
  pool: Pool,
  options: SendOptions,
  { signal, bytes }: Pick<StoreCall, "signal" | "bytes">,
): Promise<Exchanged> {
  try {
    const response = await pool.request({ ...options, method: "POST", signal });
    return { status: response.statusCode, headers: response.headers, body: await read(response, bytes) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof StoreError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    if (isTimeout(error)) throw new StoreError("late", message, { cause: error });
    throw new StoreError("unreachable", message, { cause: error, isPassing: true });
  }
}

async function read({ body, headers }: Dispatcher.ResponseData, bytes: ByteBudget): Promise<Buffer> {
  try {
    bytes.check(Number(headers["content-length"] ?? 0));
    const chunks: Buffer[] = [];
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes.take(chunk.length);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    // The rest of an answer that is too large is not read, and the connection with it is ended.
    body.destroy();
    throw error;
  }
}

function isTimeout(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT" || code === "UND_ERR_CONNECT_TIMEOUT";
}
