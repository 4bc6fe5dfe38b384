import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { CommandError } from "../command-error.ts";

/** A response whose body is text. */
export interface PostResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly durationMs: number;
}

/** Time of one request. @default as `endpoint.timeoutSeconds` of a partner */
const timeoutMs = 10_000;
const responseBytesMax = 65_536;

/**
 * Posts a body once, on a connection of its own, and follows no redirect. Headers go out as they are given.
 * @throws CommandError `unreachable` without a whole response
 */
export async function postOnce(url: URL, headers: OutgoingHttpHeaders, body: Uint8Array): Promise<PostResponse> {
  const startedAtMs = performance.now();
  try {
    const response = await exchange(url, headers, body);
    const text = (await readBounded(response)).toString();
    return {
      status: response.statusCode ?? 0,
      headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
      body: text,
      durationMs: Math.round(performance.now() - startedAtMs),
    };
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? (cause instanceof Error ? cause.message : String(cause));
    throw new CommandError("unreachable", `${url.origin} does not respond: ${reason}; check the URL`, cause);
  }
}

function exchange(url: URL, headers: OutgoingHttpHeaders, body: Uint8Array): Promise<IncomingMessage> {
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const signal = AbortSignal.timeout(timeoutMs);
  const length = { "Content-Length": String(body.byteLength) };
  const request = send(url, { method: "POST", headers: { ...headers, ...length }, agent: false, signal }, resolve);
  request.on("error", (error) => reject(signal.aborted ? new Error(`no response in ${timeoutMs} ms`) : error));
  request.end(body);
  return promise;
}

async function readBounded(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > responseBytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, responseBytesMax);
}
