// Receives deliveries in the program of a partner. The runtime does not use it.
import type { IncomingMessage, ServerResponse } from "node:http";
import { createEndpoints, joinBody, type EndpointOptions } from "./endpoints.ts";
import type { RecipientAnswer } from "./receive.ts";

/** A request as `node:http` gives it, perhaps behind a framework that keeps its target and parses bodies. */
export type NodeRequest = IncomingMessage & {
  /** The target before a framework cut a prefix off. */
  readonly originalUrl?: string;
  /** The body when a parser read it before. */
  readonly body?: unknown;
};

/**
 * A `node:http` request handler with all endpoints of a recipient. Mount it where deliveries arrive. The path must be
 * unchanged, since the signature covers it.
 */
export function createRecipient<Transaction>(
  options: EndpointOptions<Transaction>,
): (request: NodeRequest, response: ServerResponse) => void {
  const endpoints = createEndpoints(options);
  return (request, response) => {
    const { method = "", headers, url = "", originalUrl: target = url } = request;
    void endpoints({ method, target, headers, readBody: () => readNodeBody(request) }).then((result) =>
      write(response, result),
    );
  };
}

/** Reads the body byte for byte. @throws Error when a parser before has read it and kept no bytes */
export async function readNodeBody(request: NodeRequest): Promise<Uint8Array> {
  const { body } = request;
  if (Buffer.isBuffer(body)) return await joinBody(chunk(body));
  if (request.readableDidRead)
    throw new Error("A parser has read the body, but its bytes are signed: mount the recipient before the parser");
  return await joinBody(request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>);
}

async function* chunk(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes;
}

function write(response: ServerResponse, { status, headers, body }: RecipientAnswer): void {
  // A time limit of the framework may have answered first.
  if (response.headersSent) return;
  const text = body === undefined ? "" : JSON.stringify(body);
  const contentType = body === undefined ? {} : { "Content-Type": "application/json" };
  // The unread rest of a request would be parsed as the next one.
  const connection = response.req.complete ? {} : { Connection: "close" };
  response.writeHead(status, { ...headers, ...contentType, ...connection, "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}
