import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { createEndpoints, type EndpointOptions } from "./endpoints.ts";
import { readNodeBody } from "./recipient.ts";

interface FastifyRequest {
  readonly method: string;
  readonly originalUrl: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: IncomingMessage;
}

interface FastifyReply {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  send(body?: unknown): unknown;
}

/** The part of a Fastify instance that the plugin uses. */
interface FastifyScope {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    parse: (request: FastifyRequest, payload: IncomingMessage, done: (error: Error | null) => void) => void,
  ): unknown;
  route(route: {
    method: ("DELETE" | "GET" | "OPTIONS" | "PATCH" | "POST" | "PUT")[];
    url: string;
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  }): unknown;
}

/**
 * A Fastify plugin with all endpoints of a recipient. Register it with a prefix, since it answers every path below. Its
 * scope has no body parsers, because the signature covers the bytes.
 */
export function recipientPlugin<Transaction>(
  options: EndpointOptions<Transaction>,
): (scope: FastifyScope) => Promise<void> {
  const endpoints = createEndpoints(options);
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { method, originalUrl: target, headers, raw } = request;
    const response = await endpoints({ method, target, headers, readBody: () => readNodeBody(raw) });
    // The unread rest of a request would be parsed as the next one.
    const connection = raw.complete ? {} : { Connection: "close" };
    reply.code(response.status);
    Object.entries({ ...response.headers, ...connection }).forEach(([name, value]) => reply.header(name, value));
    return reply.send(response.body);
  };
  return async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    scope.route({ method: ["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"], url: "/*", handler });
  };
}
