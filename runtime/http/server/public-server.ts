import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { withinTime } from "../../../limits/clock.ts";
import { usualCaches } from "../../../limits/memory-plan.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { Caller } from "../../metrics/authorization/access.ts";
import type { Authenticate, Possession } from "../authentication/authenticate.ts";
import {
  createAddressReader,
  createCertificateReader,
  type ReadAddress,
  type ReadCertificate,
} from "../authentication/client-certificate.ts";
import { fitLinkHeaders, hasBytes } from "../representation/representations.ts";
import { createHttpServer, type ServerOptions } from "./http-server.ts";
import { httpLimits } from "./listen-server.ts";
import { bodyTypes, formParameters, queryParameters, settleMediaType, valuesByName } from "./query-string.ts";
import { createRepeatRequests, type RepeatRequests } from "./repeat-requests.ts";
import { correlationHeader, correlationIdOf } from "./request-log.ts";
import { anonymous, type ApiRequest, type ApiResponse, type Route } from "./route.ts";

interface PublicServerOptions extends ServerOptions {
  readonly authenticate: Authenticate;
  /** @default that of the connection, if it is TLS */
  readonly readCertificate?: ReadCertificate;
  /** @default that of the connection */
  readonly readAddress?: ReadAddress;
  readonly routes: readonly Route[];
  readonly now: () => number;
  /** Bound on the responses that it repeats. @default that of a process that nothing limits */
  readonly repeatBytes?: number;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set by authentication, before the body is read. */
    caller: Caller | undefined;
  }
}

const methodsKnown = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"] as const;
const noBody = new Uint8Array();

/**
 * The server of both APIs. Each route needs a scope unless it is open or takes any token. The sender is authenticated
 * before the body is read.
 */
export function createPublicServer(options: PublicServerOptions): FastifyInstance {
  const { readCertificate = createCertificateReader({}), isEnding = () => false } = options;
  const { isStill } = options.authenticate;
  const bytesMax = options.repeatBytes ?? usualCaches.repeats;
  const repeatRequests = createRepeatRequests({ ...options, isStill, readCertificate, bytesMax, isEnding });
  const app = createHttpServer({ ...options, areResponsesBounded: true, shortcut: repeatRequests.respond });
  app.addHook("preClose", async () => repeatRequests.end());
  app.decorateRequest("caller", undefined);
  for (const types of bodyTypes)
    app.addContentTypeParser(types, { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  for (const route of options.routes) addRoute(app, route, { ...options, readCertificate, repeatRequests });
  rejectOtherMethods(app, options.routes);
  return app;
}

interface Serving extends PublicServerOptions {
  readonly readCertificate: ReadCertificate;
  readonly repeatRequests: RepeatRequests;
}

function addRoute(app: FastifyInstance, route: Route, options: Serving): void {
  const { readAddress = createAddressReader({}), repeatRequests, now, limits } = options;
  const { responseTimeoutMs = httpLimits.responseTimeoutMs } = limits ?? {};
  app.route({
    method: route.method,
    url: route.path,
    config: { scopes: route.scopes },
    exposeHeadRoute: route.method === "GET",
    ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
    onRequest: async (request) => {
      request.caller = await callerOf(request, route, options);
      request.client = request.caller.client;
      rejectEncodedBody(request.headers["content-encoding"]);
      settleMediaType(route, request.headers);
    },
    handler: async (request, reply) => {
      const ownId = request.caller === anonymous ? correlationIdOf(undefined) : request.id;
      const work = (signal: AbortSignal): Promise<ApiResponse> =>
        route.handle(
          apiRequest(request, route, {
            correlationId: ownId,
            signal,
            nowMs: now(),
            address: () => readAddress(request.raw.socket, request.headers),
            origin: originOf(request.raw.socket),
          }),
        );
      const response = await abortOnClose(reply, responseTimeoutMs, work);
      if (response.rejected !== undefined) request.rejectedItems = response.rejected;
      request.sent = response.sent;
      reply.code(response.status).headers(fitLinkHeaders(response.headers ?? {}));
      setOwnId(request, reply, ownId);
      keepRepeatable(repeatRequests, route, request, { response, headers: reply.getHeaders() });
      return isKnown(request, reply) ? notModified(reply) : reply.send(response.body);
    },
  });
}

/** A response that shared caches may store has an id of its own: the caller's means nothing to other callers. */
function setOwnId(request: FastifyRequest, reply: FastifyReply, ownId: string): void {
  if (!String(reply.getHeader("cache-control")).startsWith("public")) return;
  request.responseId = ownId;
  reply.header(correlationHeader, ownId);
}

function keepRepeatable(
  repeatRequests: RepeatRequests,
  { path }: Route,
  { raw, caller, body: received }: FastifyRequest,
  { response, headers }: { readonly response: ApiResponse; readonly headers: ReturnType<FastifyReply["getHeaders"]> },
): void {
  const { revalidate, sent, body, status } = response;
  if (revalidate === undefined || caller === undefined || status !== 200 || !(body instanceof Uint8Array)) return;
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const own = received instanceof Uint8Array ? received : noBody;
  repeatRequests.keep(raw, { caller, route: path, revalidate, sent, headers: texts, bytes: body }, own);
}

/**
 * Runs the work for a request. Its signal is aborted when the caller disconnects before the response, or when the
 * response takes too long. Fastify's own signal is also aborted when a body was read to its end, and costs time on
 * every request.
 * @throws ApiError `answer_timeout`; errors of the work
 */
async function abortOnClose<Result>(
  { raw }: FastifyReply,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const hungUp = (): void => (raw.writableFinished ? undefined : ending.abort());
  const late = (): ApiError => {
    const detail = "The response took too long. The request may or may not have been processed.";
    const error = new ApiError("answer_timeout", detail);
    // The error of aborted work must not come before this one.
    queueMicrotask(() => ending.abort(error));
    return error;
  };
  raw.once("close", hungUp);
  try {
    return await withinTime(work(ending.signal), timeoutMs, late);
  } finally {
    raw.off("close", hungUp);
  }
}

/** True when the caller has the very bytes of a response. Source: RFC 9110 §13.1.2. */
function isKnown(request: FastifyRequest, reply: FastifyReply): boolean {
  const etag = reply.getHeader("etag");
  return reply.statusCode === 200 && typeof etag === "string" && hasBytes(request, etag);
}

/** Sends 304 without headers of the body, which a cache would apply to its stored body. Source: RFC 9110 §15.4.5. */
function notModified(reply: FastifyReply): FastifyReply {
  for (const name of ["content-type", "content-encoding"]) reply.removeHeader(name);
  return reply.code(304).send();
}

async function callerOf(
  { headers, raw }: FastifyRequest,
  route: Route,
  { authenticate, readCertificate }: Serving,
): Promise<Caller> {
  const { authorization } = headers;
  if (route.isOpen === true || (authorization === undefined && route.allowsAnonymous === true)) return anonymous;
  const { method = "", url = "" } = raw;
  const shown: Possession = {
    certificate: () => readCertificate(raw.socket, headers),
    proof: headerOf(headers["dpop"]),
    method,
    path: url.split("?", 1)[0] ?? "",
    host: headers.host,
    origin: originOf(raw.socket),
    ...(route.isCertificateRequired === true ? { binding: "Certificate" as const } : {}),
  };
  const caller = await authenticate(authorization, shown);
  if (route.takesAnyToken === true || route.scopes.some((scope) => caller.scopes.includes(scope))) return caller;
  throw new ApiError("scope_missing", `The token needs the scope ${route.scopes.join(" or ")}.`);
}

function rejectEncodedBody(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === "identity") return;
  throw new ApiError("unsupported_media_type", "Send the body without Content-Encoding.");
}

function apiRequest(
  request: FastifyRequest,
  { takesForms = false, takesJsonTypes = false }: Route,
  moment: Pick<ApiRequest, "correlationId" | "signal" | "nowMs" | "address" | "origin">,
): ApiRequest {
  if (request.caller === undefined) throw new Error("a route ran without authentication");
  const { url, headers } = request;
  const body = request.body instanceof Uint8Array ? request.body : noBody;
  return {
    caller: request.caller,
    ...moment,
    path: request.params as Readonly<Record<string, string>>,
    query: takesForms ? formParameters(url, headers["content-type"], body) : queryParameters(url),
    accept: headers.accept,
    acceptEncoding: headerOf(headers["accept-encoding"]),
    idempotencyKey: headerOf(headers["idempotency-key"]),
    remainingMs: headerOf(headers["x-remaining-ms"]),
    traceparent: headerOf(headers["traceparent"]),
    ...(takesJsonTypes ? { headers: valuesByName(request.raw.rawHeaders) } : {}),
    tenant: headerOf(headers["x-scope-orgid"]),
    body,
  };
}

/** By the socket, since a `Host` header is what the caller says. Undefined for a closed connection. */
function originOf(socket: Socket): string | undefined {
  const { localAddress, localPort } = socket;
  if (localAddress === undefined || localPort === undefined) return undefined;
  const address = localAddress.replace(/^::ffff:/u, "");
  const scheme = "encrypted" in socket ? "https" : "http";
  return `${scheme}://${address.includes(":") ? `[${address}]` : address}:${localPort}`;
}

function headerOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(",") : value;
}

/** Rejects other methods of known paths with 405 and `Allow`. Source: RFC 9110 §15.5.6. */
function rejectOtherMethods(app: FastifyInstance, routes: readonly Route[]): void {
  for (const [path, same] of Map.groupBy(routes, (route) => route.path)) {
    const allowed = same.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    app.route({
      method: methodsKnown.filter((method) => !allowed.includes(method)),
      url: path,
      onRequest: async (_request, reply) => {
        reply.header("allow", allowed.join(", "));
        throw new ApiError("method_not_allowed", `This path supports ${allowed.join(", ")}.`);
      },
      handler: () => undefined,
    });
  }
}
