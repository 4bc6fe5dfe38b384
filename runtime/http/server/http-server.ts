// Fastify servers: limits, problem documents, audit and repeated requests. Routes of one API are in `http/routes/`.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket, type SecureContextOptions } from "node:tls";
import {
  fastify,
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import type { Logger } from "pino";
import { ApiError } from "../../errors/api-error.ts";
import {
  type Audit,
  clientClosedStatus,
  correlationHeader,
  correlationIdOf,
  createAudit,
  isAudited,
  logRequest,
  type RequestOutcome,
} from "./request-log.ts";
import { httpLimits, type HttpLimits } from "./listen-server.ts";
import { problemHeaders, problemMediaType, problemOf, prometheusError, apiErrorOf } from "./problem.ts";
import { hasSeveralHosts, isPrometheusTarget, prometheusTarget } from "./query-string.ts";
import type { ApiResponse } from "./route.ts";

export interface ServerOptions {
  readonly log: Logger;
  /** Called with the outcome of every request. */
  readonly observe: (outcome: RequestOutcome) => void;
  /** @default {@link httpLimits} */
  readonly limits?: Partial<HttpLimits>;
  /** True when each connection must close after its next response, because the server stops soon. @default never */
  readonly isEnding?: () => boolean;
  /** Options of https; client certificates are requested and optional. @default plain HTTP */
  readonly tls?: SecureContextOptions;
  /**
   * True when the routes bound the time of their responses. Otherwise Fastify bounds it, at the cost of an abort signal
   * and an exception with its stack for each successful request. @default false
   */
  readonly areResponsesBounded?: boolean;
  /** Called before routing. @default none */
  readonly shortcut?: Shortcut;
}

/**
 * Sends the whole response and returns true, or does nothing and returns false. Where the body of the request decides,
 * it returns true and later does the one, or calls `takeFullPath`.
 */
export type Shortcut = (request: IncomingMessage, response: ServerResponse, takeFullPath: () => void) => boolean;

declare module "fastify" {
  interface FastifyContextConfig {
    /** The caller needs one of these. */
    readonly scopes?: readonly string[];
  }
  interface FastifyRequest {
    /** The rejection in the response, for the log. */
    apiError: ApiError | undefined;
    /** Rejected parts of a successful request, for the audit. */
    rejectedItems: ApiResponse["rejected"];
    /** Receives the bytes of the sent body. */
    sent: ApiResponse["sent"];
    /** Client key of the caller, for the log. */
    client: string | undefined;
    /** Correlation id in the response when it differs from the request's; for the log. */
    responseId: string | undefined;
    /** Monotonic time at which the request arrived. */
    startedAtMs: number;
  }
}

/** Headers of every response: no response is a web page, and only routes allow caching. */
const securityHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Additional headers over TLS. Source: RFC 6797. */
const tlsHeaders: Readonly<Record<string, string>> = { "strict-transport-security": "max-age=31536000" };

/**
 * A server without routes. It bounds all input, sends every error as a problem document, puts a correlation id on every
 * response and writes one log line per request.
 */
export function createHttpServer(options: ServerOptions): FastifyInstance {
  const { log, isEnding = () => false, tls, areResponsesBounded = false } = options;
  const limits = { ...httpLimits, ...options.limits };
  // With the narrower type, Fastify would infer an instance that fits nothing else.
  const loggerInstance: FastifyBaseLogger = log;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    genReqId: (request) => correlationIdOf(request.headers[correlationHeader]),
    bodyLimit: 1,
    ...(areResponsesBounded ? {} : { handlerTimeout: limits.responseTimeoutMs }),
    forceCloseConnections: "idle",
    return503OnClosing: false,
    rewriteUrl: ({ url = "" }) => prometheusTarget(url),
    routerOptions: { maxParamLength: limits.segmentLengthMax, querystringParser: () => ({}) },
    frameworkErrors: (error, request, reply) => {
      void sendError(error, request, reply);
    },
    clientErrorHandler: (error, socket) => endBrokenRequest(error, socket),
    serverFactory: (handler) => boundedServer(shortened(handler, options.shortcut), limits, tls),
  });
  app.removeAllContentTypeParsers();
  app.decorateRequest("apiError", undefined);
  app.decorateRequest("rejectedItems", undefined);
  app.decorateRequest("sent", undefined);
  app.decorateRequest("client", undefined);
  app.decorateRequest("responseId", undefined);
  app.decorateRequest("startedAtMs", 0);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(() => {
    throw new ApiError("not_found", "This path does not exist.");
  });
  addHooks(app, limits, options);
  // Otherwise the server could close an idle connection while its caller sends the next request on it. The caller could
  // not know the outcome of that request.
  app.addHook("onSend", (_request, reply, payload, done) => {
    if (isEnding()) reply.header("connection", "close");
    done(null, payload);
  });
  return app;
}

function shortened(handler: RequestListener, shortcut: Shortcut | undefined): RequestListener {
  if (shortcut === undefined) return handler;
  return (request, response) => {
    const takeFullPath = (): void => handler(request, response);
    if (!shortcut(request, response, takeFullPath)) takeFullPath();
  };
}

function boundedServer(handler: RequestListener, limits: HttpLimits, tls: SecureContextOptions | undefined): Server {
  const bounds = {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.timeoutCheckMs,
  };
  // Routes check certificates of bound tokens. TLS accepts any certificate, and none. Source: RFC 8705 §3.
  const handshake = { requestCert: true, rejectUnauthorized: false, handshakeTimeout: limits.headersTimeoutMs };
  // An import of this module also loads all that it defines lazily, a WebSocket client among it. That takes 60 ms.
  const { createServer } = process.getBuiltinModule("node:http");
  const server =
    tls === undefined ? createServer(bounds, handler) : createTlsServer({ ...bounds, ...tls, ...handshake }, handler);
  server.timeout = limits.silenceMs;
  server.maxConnections = limits.connectionsMax;
  return server;
}

function addHooks(app: FastifyInstance, limits: HttpLimits, { observe, log, tls }: ServerOptions): void {
  const headers = { ...securityHeaders, ...(tls === undefined ? {} : tlsHeaders) };
  const audit = createAudit(log, Date.now);
  app.addHook("onRequest", (request, reply, done) => {
    request.startedAtMs = performance.now();
    reply.headers(headers).header(correlationHeader, request.id);
    done(longTarget(request.url, limits) ?? severalHosts(request.raw.rawHeaders));
  });
  const settle = (request: FastifyRequest, status: number, bytes: number): void => {
    const { id, responseId, client, apiError, method } = request;
    const outcome = {
      method,
      route: request.routeOptions.url ?? "unknown",
      status,
      durationMs: performance.now() - request.startedAtMs,
      bytes,
    };
    logRequest({ log, observe }, { ...outcome, correlationId: id, responseId, client, apiError });
    auditErrors(audit, request, outcome);
  };
  app.addHook("onResponse", (request, reply, done) => {
    const bytes = request.method === "HEAD" ? 0 : Number(reply.getHeader("content-length") ?? 0);
    settle(request, reply.statusCode, bytes);
    if (bytes > 0) request.sent?.(bytes);
    done();
  });
  app.addHook("onRequestAbort", async (request) => settle(request, clientClosedStatus, 0));
}

function longTarget(url: string, limits: HttpLimits): ApiError | undefined {
  const most = isPrometheusTarget(url) ? limits.prometheusTargetLengthMax : limits.targetLengthMax;
  return url.length > most
    ? new ApiError("uri_too_long", `The request target is longer than ${most} characters.`)
    : undefined;
}

function severalHosts(rawHeaders: readonly string[]): ApiError | undefined {
  return hasSeveralHosts(rawHeaders)
    ? new ApiError("invalid_request", "The request has more than one Host header.")
    : undefined;
}

function auditErrors(audit: Audit, request: FastifyRequest, { method, route }: RequestOutcome): void {
  const { apiError, rejectedItems = [], client, id, ip: address } = request;
  const auditOne = (own: ApiError, item?: string): void => {
    if (!isAudited(own.status)) return;
    const { code, message: detail } = own;
    audit({ code, detail, correlationId: id, method, route, address, client, ...(item === undefined ? {} : { item }) });
  };
  if (apiError !== undefined) auditOne(apiError);
  for (const { item, apiError: own } of rejectedItems) auditOne(own, item);
}

/** Sends the body of any error of a request: a problem document, or the form of Prometheus on its paths. */
function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const apiError = apiErrorOf(error);
  const { status, type, body } = errorResponse(apiError, request);
  request.apiError = apiError;
  // Fastify closes the connection under a client that still sends a rejected body; the client would then see a reset
  // instead of the response. The rest of the body is discarded within the bound on receiving a request.
  reply.removeHeader("connection");
  return (
    reply
      .code(status)
      .headers({ ...securityHeaders, [correlationHeader]: request.id })
      .headers(problemHeaders(apiError, request.routeOptions.config.scopes))
      .header("content-type", type)
      // As bytes: to a text Fastify adds a charset, which this media type does not have.
      .send(Buffer.from(JSON.stringify(body)))
  );
}

function errorResponse(
  apiError: ApiError,
  { url, id }: FastifyRequest,
): { readonly status: number; readonly type: string; readonly body: object } {
  if (isPrometheusTarget(url)) return { ...prometheusError(apiError), type: "application/json" };
  return { status: apiError.status, type: problemMediaType, body: problemOf(apiError, id) };
}

/** Before the handshake is complete, no response can be sent. */
function isFailedHandshake(error: Error, socket: Socket): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return socket instanceof TLSSocket && !code.startsWith("HPE_") && code !== "ERR_HTTP_REQUEST_TIMEOUT";
}

/** Handles a malformed request: it has no route and no reply, only a socket. */
function endBrokenRequest(error: Error, socket: Socket): void {
  if (
    (error as NodeJS.ErrnoException).code === "ECONNRESET" ||
    socket.destroyed ||
    !socket.writable ||
    isFailedHandshake(error, socket)
  ) {
    socket.destroy();
    return;
  }
  const apiError = apiErrorOf(Object.assign(error, { statusCode: 400 }));
  const id = correlationIdOf(undefined);
  const body = JSON.stringify(problemOf(apiError, id));
  const headers = {
    ...securityHeaders,
    [correlationHeader]: id,
    "content-type": problemMediaType,
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const { STATUS_CODES } = process.getBuiltinModule("node:http");
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${apiError.status} ${STATUS_CODES[apiError.status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}
