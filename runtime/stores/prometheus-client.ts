import { Pool, type Dispatcher } from "undici";
import type { StoreConfig } from "../../crds/config.ts";
import { decodeMatrix, decodeSingle, parseSample, type PointGrid, type StoreSeries } from "./matrix.ts";
import { StoreError } from "./store-error.ts";

/** Connections to one store. Further requests wait their turn inside their own deadline. */
const connectionsMax = 16;
const connectTimeoutMs = 1_000;
const keepAliveMs = 30_000;
/** Bytes of one answer: 50 series of 11,000 points with room for buckets. */
export const storeBodyBytesMax = 48 * 1024 * 1024;
const errorTextLengthMax = 300;

/** What a range query answered. */
export interface RangeAnswer {
  readonly series: readonly StoreSeries[];
  /** The store says that its own data is incomplete. */
  readonly incomplete: boolean;
}

/** An exemplar as the store keeps it. */
export interface StoreExemplar {
  readonly seriesLabels: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestampMs: number;
}

/**
 * One Prometheus-compatible store. Every method rejects with `StoreError`, or with the signal's reason once the signal
 * is aborted; the request to the store is then cancelled too.
 */
export interface PrometheusClient {
  /** `POST /api/v1/query_range` */
  range(query: string, grid: PointGrid, signal: AbortSignal): Promise<RangeAnswer>;
  /** `POST /api/v1/query`: the one value of a query that answers at most one series. */
  single(query: string, timeMs: number, signal: AbortSignal): Promise<number | undefined>;
  /** `POST /api/v1/query_exemplars`: empty where the store keeps none. */
  exemplars(query: string, fromMs: number, toMs: number, signal: AbortSignal): Promise<readonly StoreExemplar[]>;
  /** Ends the connections: at once, or when the requests under way are answered. */
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

interface Success {
  readonly data: unknown;
  readonly incomplete: boolean;
}

/** A client with connections of its own. Nothing is sent before the first call. */
export function createPrometheusClient({ url, timeoutMs }: StoreConfig["prometheus"]): PrometheusClient {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, {
    connections: connectionsMax,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    connect: { timeout: connectTimeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const base = pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
  const post = (path: string, form: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Success> =>
    postForm(pool, `${base}/api/v1/${path}`, form, signal);
  return {
    async range(query, grid, signal) {
      const answer = await post("query_range", { query, ...rangeForm(grid), timeout: `${timeoutMs}ms` }, signal);
      return { series: decodeMatrix(answer.data, grid), incomplete: answer.incomplete };
    },
    async single(query, timeMs, signal) {
      const form = { query, time: seconds(timeMs), timeout: `${timeoutMs}ms` };
      return decodeSingle((await post("query", form, signal)).data);
    },
    async exemplars(query, fromMs, toMs, signal) {
      const answer = await post("query_exemplars", { query, start: seconds(fromMs), end: seconds(toMs) }, signal);
      return decodeExemplars(answer.data);
    },
    close: ({ atOnce }) => (atOnce ? pool.destroy() : pool.close()),
  };
}

function rangeForm({ startMs, stepMs, count }: PointGrid): Readonly<Record<string, string>> {
  return { start: seconds(startMs), end: seconds(startMs + (count - 1) * stepMs), step: seconds(stepMs) };
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

async function postForm(
  pool: Pool,
  path: string,
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Success> {
  try {
    const response = await pool.request({
      path,
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        // Compressing costs the store more than the bytes cost the network between them.
        "accept-encoding": "identity",
      },
      body: new URLSearchParams(form).toString(),
      signal,
    });
    return parseAnswer(response.statusCode, await readBounded(response));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof StoreError) throw error;
    const kind = isTimeout(error) ? "late" : "unreachable";
    throw new StoreError(kind, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function readBounded({ body, headers }: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const tooLarge = (): StoreError => new StoreError("too_large", `the answer is longer than ${storeBodyBytesMax} bytes`);
  if (Number(headers["content-length"] ?? 0) > storeBodyBytesMax) {
    body.destroy();
    throw tooLarge();
  }
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop destroys the body and with it the connection.
    if (bytes > storeBodyBytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString("utf8");
}

/** Source: Prometheus HTTP API, "Format overview". */
interface ApiAnswer {
  readonly status?: unknown;
  readonly data?: unknown;
  readonly errorType?: unknown;
  readonly error?: unknown;
  readonly warnings?: unknown;
}

function parseAnswer(status: number, text: string): Success {
  const answer = parseJson(text);
  if (answer?.status === "success") return { data: answer.data, incomplete: isIncomplete(answer.warnings) };
  if (answer?.status === "error") {
    const kind = answer.errorType === "timeout" ? "late" : "refused";
    throw new StoreError(kind, `${String(answer.errorType)}: ${String(answer.error).slice(0, errorTextLengthMax)}`);
  }
  if (status >= 200 && status < 300) throw new StoreError("malformed", "the answer is not JSON of a query API");
  throw new StoreError("status", `HTTP ${status}: ${text.slice(0, errorTextLengthMax)}`);
}

function parseJson(text: string): ApiAnswer | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Annotations of PromQL are about the query. Every other warning is about data that the store could not read. */
function isIncomplete(warnings: unknown): boolean {
  if (!Array.isArray(warnings)) return false;
  return warnings.some((warning) => !String(warning).startsWith("PromQL "));
}

function isTimeout(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT" || code === "UND_ERR_CONNECT_TIMEOUT";
}

interface ExemplarEntry {
  readonly seriesLabels?: Readonly<Record<string, string>>;
  readonly exemplars?: readonly {
    readonly labels?: Readonly<Record<string, string>>;
    readonly value?: string;
    readonly timestamp?: number;
  }[];
}

function decodeExemplars(data: unknown): readonly StoreExemplar[] {
  if (!Array.isArray(data)) throw new StoreError("malformed", "the answer holds no list of exemplars");
  return (data as readonly ExemplarEntry[]).flatMap(({ seriesLabels = {}, exemplars = [] }) =>
    exemplars.map(({ labels = {}, value = "NaN", timestamp = Number.NaN }) => ({
      seriesLabels,
      labels,
      value: parseSample(value),
      timestampMs: Math.round(timestamp * 1_000),
    })),
  );
}
