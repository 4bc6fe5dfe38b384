import { pageItemsMax } from "../../api/events.ts";
import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import { readBoundedBody } from "../../network/bounded-body.ts";
import { onAbort } from "../../limits/clock.ts";
import { withOverlappingAttempts } from "../../network/http-agent.ts";
import { CommandError } from "../command-line/command.ts";
import { type ApiResponse, httpErrorOf, unreachable } from "./http-error.ts";
import type { ApiConnection } from "./connection.ts";

export interface ApiRequest {
  /** @default GET */
  readonly method?: "GET" | "POST" | "DELETE";
  /** Begins with a slash. */
  readonly path: string;
  /** Parameters; undefined ones are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** Sent as JSON; bytes are sent as they are. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bound of the whole request. @default 30 s */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const timeoutMsDefault = 30_000;
const bodyBytesMax = 64 * 1024 * 1024;

/** One page of a list of the API. */
interface Page<Item> {
  readonly data: readonly Item[];
  readonly meta: { readonly cursor: string | null; readonly complete?: boolean };
}

interface ListOptions {
  /** Most items of all pages together. */
  readonly limit: number;
  /** Called when the list has more items than the limit. */
  readonly onMore?: () => void;
  /** Called once after the list when the server reports that it left items out. */
  readonly onIncomplete?: () => void;
}

/** Most pages in a row without an item: a server that searches may need some. */
const emptyPagesMax = 1_000;

/**
 * Sends one request.
 * @throws ApiApiError for a status of 300 or more; CommandError `unreachable` when no response arrives
 */
export async function send(connection: ApiConnection, request: ApiRequest): Promise<ApiResponse> {
  const token = await connection.token();
  const { timeoutMs = timeoutMsDefault, signal } = request;
  const limit = AbortSignal.timeout(timeoutMs);
  const signals = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  let response: ApiResponse;
  try {
    response = await exchange(connection, request, token, signals).catch((error: unknown) => {
      if (!isOfKeptConnection(error, request)) throw error;
      return exchange(connection, request, token, signals);
    });
  } catch (error) {
    signal?.throwIfAborted();
    const failure = connection.failure?.();
    if (failure !== undefined) throw new CommandError("unreachable", failure, error);
    throw unreachable(connection.url, limit.aborted ? `no response within ${timeoutMs / 1000} s` : error);
  }
  if (response.status >= 300) throw httpErrorOf(response, token !== undefined);
  return response;
}

/** Tests if a server closed a kept connection while a request that may be repeated was sent. */
function isOfKeptConnection(error: unknown, { method = "GET" }: ApiRequest): boolean {
  return method !== "POST" && error instanceof KeptConnectionError;
}

/** A kept connection that ended without a response. */
class KeptConnectionError extends Error {}

/** Sends one request whose response is JSON. @throws as {@link send} */
export async function sendForJson<T>(connection: ApiConnection, request: ApiRequest): Promise<T> {
  const { body } = await send(connection, request);
  try {
    return JSON.parse(body.toString()) as T;
  } catch (error) {
    throw unreachable(connection.url, "the response is not JSON; the URL may belong to another program", error);
  }
}

async function exchange(
  connection: ApiConnection,
  request: ApiRequest,
  token: string | undefined,
  signal: AbortSignal,
): Promise<ApiResponse> {
  const body = bodyOf(request.body);
  const outgoing = open(connection, request, {
    accept: "application/json",
    ...(body === undefined ? {} : { "content-type": "application/json", "content-length": String(body.length) }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...request.headers,
  });
  const forget = onAbort(signal, () => outgoing.destroy(new Error("aborted")));
  try {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      const fail = (error: Error): void =>
        reject(
          outgoing.reusedSocket && !signal.aborted ? new KeptConnectionError(error.message, { cause: error }) : error,
        );
      outgoing.once("response", resolve).on("error", fail).end(body);
    });
    const received = await readBoundedBody(incoming, bodyBytesMax, "the server");
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: received };
  } finally {
    forget();
  }
}

function open(
  connection: ApiConnection,
  { method = "GET", path, query = {} }: ApiRequest,
  headers: Readonly<Record<string, string>>,
): ClientRequest {
  const { url, serverName } = connection;
  const target = new URL(url + path);
  for (const [name, value] of Object.entries(query))
    for (const text of [value ?? []].flat()) target.searchParams.append(name, String(text));
  const agent = agentOf(connection, target.protocol);
  // A URL drops the segments `.` and `..`, which ids may be.
  const { pathname } = new URL(url);
  const wholePath = `${pathname === "/" ? "" : pathname}${path}${target.search}`;
  const options = {
    method,
    headers,
    agent,
    path: wholePath,
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
  // An import would read each export, and so load a client of WebSockets.
  if (target.protocol === "https:") return process.getBuiltinModule("node:https").request(target, options);
  return process.getBuiltinModule("node:http").request(target, options);
}

/** Kept connections, which end with their {@link ApiConnection}. */
const agents = new WeakMap<ApiConnection, Agent>();

function agentOf(connection: ApiConnection, protocol: string): Agent {
  const { Agent: AgentOf } = process.getBuiltinModule(protocol === "https:" ? "node:https" : "node:http");
  const agent = agents.get(connection) ?? withOverlappingAttempts(new AgentOf({ keepAlive: true }));
  agents.set(connection, agent);
  return agent;
}

function bodyOf(body: object | undefined): Buffer | undefined {
  if (body === undefined) return undefined;
  return body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
}

/**
 * Reads a list page by page, only as fast as the pages are used.
 * @throws CommandError `unreachable` when the server's pages are no list of this API, or lead nowhere
 */
export async function* pagesOf<Item>(
  connection: ApiConnection,
  { path, query }: Pick<ApiRequest, "path" | "query">,
  { limit, onMore, onIncomplete }: ListOptions,
): AsyncGenerator<readonly Item[]> {
  let cursor: string | null | undefined;
  let left = limit;
  let isComplete = true;
  const requireProgress = progressOf(connection);
  while (left > 0 && cursor !== null) {
    const request = { path, query: { ...query, cursor, limit: Math.min(left, pageItemsMax) } };
    const page = listOf<Item>(connection, await sendForJson<unknown>(connection, request));
    requireProgress(page);
    yield page.data.slice(0, left);
    left -= page.data.length;
    isComplete &&= page.meta.complete !== false;
    cursor = page.meta.cursor;
  }
  if (cursor !== null) onMore?.();
  if (!isComplete) onIncomplete?.();
}

/** Checks each page of one list. @throws CommandError `unreachable` when the list does not end */
function progressOf({ url }: ApiConnection): (page: Page<unknown>) => void {
  let last: string | null = null;
  let emptyPages = 0;
  return ({ data, meta: { cursor } }) => {
    emptyPages = data.length === 0 ? emptyPages + 1 : 0;
    if (cursor !== null && (cursor === last || emptyPages > emptyPagesMax))
      throw new CommandError("unreachable", `the list at ${url} never ends: pages repeat or are empty`);
    last = cursor;
  };
}

/** @throws CommandError `unreachable` */
function listOf<Item>({ url }: ApiConnection, page: unknown): Page<Item> {
  const { data, meta } = (page ?? {}) as Partial<Page<Item>>;
  const cursor: unknown = meta?.cursor;
  if (Array.isArray(data) && meta !== undefined && (cursor === null || typeof cursor === "string"))
    return { data, meta };
  throw new CommandError(
    "unreachable",
    `${url} did not return a list of this API; the URL may belong to another program`,
  );
}
