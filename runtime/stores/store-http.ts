import { Pool, type Dispatcher } from "undici";
import type { PrometheusConfig } from "../../crds/config.ts";
import { parseAnswer, type ApiAnswer } from "./api-answer.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { PointGrid } from "./matrix.ts";
import { StoreError } from "./store-error.ts";
import type { StoreSecrets } from "./store-secrets.ts";

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
}

/**
 * One form to one path below `/api/v1/`. Rejects with `StoreError`, or with the signal's reason.
 *
 * @param grid of the points, for a range query for numbers
 */
export type Post = (path: string, form: Readonly<Record<string, string>>, call: StoreCall, grid?: PointGrid) => Promise<ApiAnswer>;

/** Connections to one store. */
export interface StoreHttp {
  readonly post: Post;
  /** Ends the connections: at once, or when the requests under way are answered. */
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** Nothing is sent before the first request. */
export function createStoreHttp(config: PrometheusConfig, secrets: StoreSecrets): StoreHttp {
  const { origin, pathname } = new URL(config.url);
  const pool = new Pool(origin, {
    connections: connectionsMax,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    connect: { timeout: connectTimeoutMs, ...secrets.tls },
    headersTimeout: config.timeoutMs,
    bodyTimeout: config.timeoutMs,
  });
  const base = pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
  const fixed = { ...requestHeaders, ...config.headers, ...secrets.headers };
  return {
    post: (path, form, call, grid) => {
      const tenant = config.tenantHeader === undefined || call.tenant === undefined ? {} : { [config.tenantHeader]: call.tenant };
      const options = { path: `${base}/api/v1/${path}`, headers: { ...fixed, ...tenant }, body: new URLSearchParams(form).toString() };
      return send(pool, options, call, grid);
    },
    close: ({ atOnce }) => (atOnce ? pool.destroy() : pool.close()),
  };
}

const requestHeaders = {
  "content-type": "application/x-www-form-urlencoded",
  accept: "application/json",
  // Compressing costs the store more than the bytes cost the network between them.
  "accept-encoding": "identity",
};

type SendOptions = Pick<Dispatcher.RequestOptions, "path"> & { readonly headers: Record<string, string>; readonly body: string };

async function send(pool: Pool, options: SendOptions, { signal, bytes }: StoreCall, grid: PointGrid | undefined): Promise<ApiAnswer> {
  try {
    const response = await pool.request({ ...options, method: "POST", signal });
    return parseAnswer(response.statusCode, await read(response, bytes), grid);
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
