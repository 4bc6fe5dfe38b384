import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import { withOverlappingAttempts } from "../../network/http-agent.ts";
import type { ApiConnection } from "./connection.ts";
import { refusalOf, unreachable, type ApiResponse } from "./api-error.ts";

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

/**
 * Sends one request.
 * @throws ApiRefusal for a status of 300 or more; CommandError `unreachable` when no response arrives
 */
export async function send(connection: ApiConnection, request: ApiRequest): Promise<ApiResponse> {
  const token = await connection.token();
  const { timeoutMs = timeoutMsDefault, signal } = request;
  const limit = AbortSignal.timeout(timeoutMs);
  const signals = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  let response: ApiResponse;
  try {
    response = await exchange(connection, request, token, signals);
  } catch (error) {
    signal?.throwIfAborted();
    throw unreachable(connection.url, limit.aborted ? `no response within ${timeoutMs / 1000} s` : error);
  }
  if (response.status >= 300) throw refusalOf(response, token !== undefined);
  return response;
}

/** Sends one request whose response is JSON. @throws as {@link send} */
export async function sendForJson<T>(connection: ApiConnection, request: ApiRequest): Promise<T> {
  const { body } = await send(connection, request);
  try {
    return JSON.parse(body.toString()) as T;
  } catch (error) {
    throw unreachable(connection.url, "the response is not JSON; the URL may be that of another program", error);
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
  const abort = (): void => void outgoing.destroy(new Error("aborted"));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve).on("error", reject).end(body);
    });
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: await readBody(incoming) };
  } finally {
    signal.removeEventListener("abort", abort);
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

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Error(`the response has more than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
