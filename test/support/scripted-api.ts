import { once } from "node:events";
import { type IncomingMessage, type RequestListener, type ServerResponse, createServer } from "node:http";
import { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { KubeConfig } from "@kubernetes/client-node";
import type { ClusterAccess } from "../../kube/client/credentials.ts";
import { kubeConfigAccess } from "../../kube/client/kube-config.ts";
import { leaveCutOff } from "./loopback.ts";
import type { Certificate } from "./tls/x509.ts";

/** One request as the server saw it. */
export interface ScriptedRequest {
  /** The method, or `WATCH` for a GET with `watch=true`. */
  readonly verb: Verb;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Verb = "GET" | "WATCH" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Writes one answer, or leaves it unwritten. */
export type Reply = (response: ServerResponse, request: ScriptedRequest) => void | Promise<void>;

/** A real HTTP server that answers what its test wrote down, request by request. */
export interface ScriptedApi {
  readonly url: string;
  /** The way to this server, trusting it when it speaks TLS. */
  readonly access: ClusterAccess;
  /** Everything asked so far, or everything of one verb. */
  requests(verb?: Verb): readonly ScriptedRequest[];
  /** The next requests of that verb get these answers, in order, each once. */
  on(verb: Verb, ...replies: readonly Reply[]): void;
  /** Every request of that verb whose script is used up gets this answer. */
  always(verb: Verb, reply: Reply): void;
  /** Connections made so far: TLS handshakes where the server speaks TLS. */
  connections(): number;
  /** Ends every connection; new ones are shown this certificate. */
  present(certificate: Certificate): void;
  stop(): Promise<void>;
}

/**
 * Starts the server on 127.0.0.1. A watch without a script stays open and silent; any other request without one is
 * answered 500 `Unscripted`.
 */
export async function startScriptedApi(options: { readonly tls?: Certificate } = {}): Promise<ScriptedApi> {
  const scripts = new Map<Verb, Reply[]>();
  const fallbacks = new Map<Verb, Reply>([["WATCH", frames([])]]);
  const requests: ScriptedRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const listener: RequestListener = (message, response) => {
    void readRequest(message).then((request) => {
      requests.push(request);
      const reply = scripts.get(request.verb)?.shift() ?? fallbacks.get(request.verb) ?? status(500, "Unscripted");
      return reply(response, request);
    }, leaveCutOff);
  };
  const server = options.tls === undefined ? createServer(listener) : new TlsServer(options.tls, listener);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on(options.tls === undefined ? "connection" : "secureConnection", () => {
    connections += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listening socket has no port");
  const url = `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${address.port}`;
  return {
    url,
    access: kubeConfigAccess(() => kubeConfigFor(url, options.tls)),
    requests: (verb) => (verb === undefined ? requests : requests.filter((request) => request.verb === verb)),
    on: (verb, ...replies) => void scripts.set(verb, [...(scripts.get(verb) ?? []), ...replies]),
    always: (verb, reply) => void fallbacks.set(verb, reply),
    connections: () => connections,
    present: (certificate) => {
      if (server instanceof TlsServer) server.setSecureContext(certificate);
      for (const socket of sockets) socket.destroy();
    },
    stop: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

function kubeConfigFor(url: string, tls: Certificate | undefined): KubeConfig {
  const config = new KubeConfig();
  const trust =
    tls === undefined
      ? { skipTLSVerify: true }
      : { skipTLSVerify: false, caData: Buffer.from(tls.cert).toString("base64") };
  config.loadFromClusterAndUser(
    { name: "scripted", server: url, ...trust },
    { name: "tester", token: "scripted-token" },
  );
  return config;
}

async function readRequest(message: IncomingMessage): Promise<ScriptedRequest> {
  const url = new URL(message.url ?? "/", "http://scripted");
  const parts: Buffer[] = [];
  for await (const chunk of message) parts.push(chunk as Buffer);
  const watch = message.method === "GET" && url.searchParams.get("watch") === "true";
  return {
    verb: watch ? "WATCH" : (message.method as Verb),
    path: url.pathname,
    query: url.searchParams,
    headers: message.headers,
    body: Buffer.concat(parts).toString("utf8"),
  };
}

/** An answer with a JSON body. */
export function answer(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return (response) => {
    response.writeHead(code, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
}

/** An error as the API server words it. */
export function status(code: number, reason: string, retryAfterSeconds?: number): Reply {
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  return answer(code, statusObject(code, reason), headers);
}

/** A `Status` object. */
export function statusObject(code: number, reason: string): object {
  return { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: `scripted ${reason}` };
}

/** One page of a list. */
export function list(resourceVersion: string, items: readonly unknown[], next?: string): Reply {
  return answer(200, {
    kind: "List",
    apiVersion: "v1",
    metadata: { resourceVersion, ...(next === undefined ? {} : { continue: next }) },
    items,
  });
}

/** How the server leaves a watch after its last frame. */
export type WatchEnding = "open" | "end" | "reset" | "half frame";

/** One frame of a watch. */
export interface ScriptedFrame {
  readonly type: string;
  readonly object: unknown;
}

/** A watch that sends these frames at once. @param ending default: it stays open and silent */
export function frames(events: readonly ScriptedFrame[], ending: WatchEnding = "open"): Reply {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const event of events) writeFrame(response, event);
    finish(response, ending);
  };
}

/** No answer at all: the connection stays open and silent. */
export function silence(): Reply {
  return () => undefined;
}

/** The connection is reset instead of an answer. */
export function reset(): Reply {
  return (response) => void response.socket?.resetAndDestroy();
}

/** A watch whose test sends frame by frame. */
interface LiveWatch {
  readonly reply: Reply;
  readonly isOpen: () => boolean;
  send(...events: readonly ScriptedFrame[]): void;
  finish(ending: WatchEnding): void;
}

/** Makes a watch that the test drives once a client has opened it. */
export function liveWatch(): LiveWatch {
  let open: ServerResponse | undefined;
  const opened = (): ServerResponse => {
    if (open === undefined) throw new Error("no client has opened this watch");
    return open;
  };
  return {
    reply: (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      open = response;
    },
    isOpen: () => open !== undefined,
    send: (...events) => {
      for (const event of events) writeFrame(opened(), event);
    },
    finish: (ending) => finish(opened(), ending),
  };
}

function writeFrame(response: ServerResponse, frame: ScriptedFrame): void {
  response.write(`${JSON.stringify(frame)}\n`);
}

function finish(response: ServerResponse, ending: WatchEnding): void {
  const endings: Readonly<Record<WatchEnding, () => void>> = {
    open: () => undefined,
    end: () => void response.end(),
    reset: () => void setImmediate(() => response.socket?.resetAndDestroy()),
    "half frame": () => void response.end('{"type":"MODIFIED","object":{"meta'),
  };
  endings[ending]();
}
