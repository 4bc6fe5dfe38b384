// The exchanges of servers that tests start, in this process and in child processes.
import { subscribe } from "node:diagnostics_channel";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** One request that a server answered. */
export interface Exchange {
  readonly method: string;
  /** As the server declares it, such as `/webhooks/events/:id`. */
  readonly route: string;
  /** As received. */
  readonly target: string;
  readonly status: number;
  readonly requestBody: Uint8Array | undefined;
  /** Media type of the request. @default application/json */
  readonly requestType?: string;
  readonly mediaType: string;
  /** `Content-Encoding` of the response. @default none */
  readonly coding?: string | undefined;
  readonly responseBody: Uint8Array | string | undefined;
}

/** Names the file in which a child process records its exchanges. */
export const recordingVariable = "CONTRACT_RECORDING";

/** The file of the children of this process. */
export const recordingFile = join(tmpdir(), `heliograph-contract-${process.pid}.ndjson`);

/** Variables of a child process that records. Nothing outside of a test run reads the file. */
export function recordingVariables(): Readonly<Record<string, string>> {
  return process.env["VITEST"] === undefined ? {} : { [recordingVariable]: recordingFile };
}

/**
 * Calls back for each response of every Fastify server that this process creates. No route sends a stream. Responses to
 * repeated requests are sent without Fastify, with the bytes of the first response.
 */
export function observeServers(onExchange: (exchange: Exchange) => void | Promise<void>): void {
  subscribe("fastify.initialization", (message) => {
    const { fastify } = message as { readonly fastify: FastifyInstance };
    fastify.addHook("onSend", async (request, reply, payload) => {
      if (typeof payload === "string" || payload instanceof Uint8Array)
        await onExchange(exchangeOf(request, reply, payload));
      return payload;
    });
  });
}

function exchangeOf(request: FastifyRequest, reply: FastifyReply, responseBody: Uint8Array | string): Exchange {
  return {
    method: request.method,
    route: request.routeOptions.url ?? "",
    target: request.raw.url ?? "",
    status: reply.statusCode,
    ...requestOf(request),
    mediaType: String(reply.getHeader("content-type") ?? "").split(";")[0] ?? "",
    coding: reply.getHeader("content-encoding")?.toString(),
    responseBody,
  };
}

/** Without the body of a CloudEvent in binary mode, which is only its data. */
function requestOf({ headers, body }: FastifyRequest): Pick<Exchange, "requestBody" | "requestType"> {
  const requestType = (headers["content-type"] ?? "application/json").replace(/\s*;.*/u, "").toLowerCase();
  const isBinary = "ce-id" in headers && !requestType.startsWith("application/cloudevents");
  return { requestType, requestBody: body instanceof Uint8Array && !isBinary ? body : undefined };
}

/** A line of the recording. */
export function lineOf({ requestBody, responseBody, ...rest }: Exchange): string {
  const bodies = [requestBody, responseBody].map((body) => body && Buffer.from(body).toString("base64"));
  return `${JSON.stringify({ ...rest, bodies })}\n`;
}

/** The exchanges of a recording. A process that is killed may leave half a line at the end. */
export function exchangesOf(recording: string): readonly Exchange[] {
  const lines = recording.split("\n").slice(0, -1);
  return lines.map((line): Exchange => {
    const { bodies, ...rest } = JSON.parse(line) as Exchange & { readonly bodies: readonly (string | null)[] };
    const [requestBody, responseBody] = bodies.map((body) => (body === null ? undefined : Buffer.from(body, "base64")));
    return { ...rest, requestBody, responseBody };
  });
}
