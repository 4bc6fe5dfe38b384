// Reads and changes by the public API, and what a part knows of a response. How a response looks is elsewhere.
import { problemOf, ProblemError } from "./problem.ts";

/** A response of the API that is a success. */
export interface ApiResponse<Body> {
  /** 206: some store or region is missing; the body names it. */
  readonly status: number;
  readonly body: Body;
  readonly headers: Headers;
  /** When it arrived, Unix milliseconds. */
  readonly atMs: number;
}

/** Sends one request with the token of the session. */
export type SendRequest = (path: string, init: RequestInit) => Promise<Response>;

/** What a request that changes something sends. */
export interface ApiChange {
  readonly method: "POST" | "DELETE";
  readonly body?: unknown;
  /** Repeats of one intent carry the same key, so that it has one effect. */
  readonly idempotencyKey?: string;
}

/** The public API, as this session may use it. */
export interface ApiClient {
  /** Reads a path such as `/webhooks/events?limit=50`. @throws ProblemError; DOMException when aborted or too late */
  read<Body>(path: string, signal: AbortSignal): Promise<ApiResponse<Body>>;
  /** Reads a path as text, for a representation other than JSON. @throws as {@link read} */
  readText(path: string, accept: string, signal: AbortSignal): Promise<string>;
  /** Changes something. @throws as {@link read} */
  send<Body>(path: string, change: ApiChange, signal?: AbortSignal): Promise<ApiResponse<Body>>;
  /** The last response to a read of this path in this session, at most {@link keptResponsesMax} of them. */
  known<Body>(path: string): ApiResponse<Body> | undefined;
}

/** Longer than the longest poll and the longest bulk answer of the server. */
const requestMsMax = 40_000;
const keptResponsesMax = 60;

/** A client over a session. @param onUnauthorized is told of each 401 that the session could not mend */
export function createApiClient(send: SendRequest, onUnauthorized: () => void): ApiClient {
  const kept = new Map<string, ApiResponse<unknown>>();
  const keep = (path: string, response: ApiResponse<unknown>): void => {
    kept.delete(path);
    kept.set(path, response);
    const [oldest] = kept.keys();
    if (kept.size > keptResponsesMax && oldest !== undefined) kept.delete(oldest);
  };
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    const timeout = AbortSignal.timeout(requestMsMax);
    const signal =
      init.signal === undefined || init.signal === null ? timeout : AbortSignal.any([init.signal, timeout]);
    const response = await send(path, { ...init, signal, cache: "no-store", credentials: "omit" });
    if (response.ok) return response;
    if (response.status === 401) onUnauthorized();
    throw new ProblemError(problemOf(response.status, response.headers, await jsonOf(response)));
  };
  return {
    read: async <Body>(path: string, signal: AbortSignal) => {
      const response = await ask(path, { method: "GET", headers: { accept: "application/json" }, signal });
      const read = await responseOf<Body>(response);
      keep(path, read);
      return read;
    },
    readText: async (path, accept, signal) => (await ask(path, { method: "GET", headers: { accept }, signal })).text(),
    send: async <Body>(path: string, change: ApiChange, signal?: AbortSignal) =>
      responseOf<Body>(await ask(path, { ...requestOf(change), ...(signal === undefined ? {} : { signal }) })),
    known: <Body>(path: string) => kept.get(path) as ApiResponse<Body> | undefined,
  };
}

function requestOf({ method, body, idempotencyKey }: ApiChange): RequestInit {
  return {
    method,
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

async function responseOf<Body>(response: Response): Promise<ApiResponse<Body>> {
  const { status, headers } = response;
  return { status, headers, body: (await jsonOf(response)) as Body, atMs: Date.now() };
}

/** Undefined for a body that is no JSON. */
async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
