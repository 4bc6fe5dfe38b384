import { get, type IncomingMessage } from "node:http";

/** A response of the monitoring port of nats-server. */
interface MonitorResponse {
  readonly status: number;
  readonly body: string;
}

const timeoutMs = 4_000;
/** Holds the state of some thousand streams. */
const bodyBytesMax = 8 * 1024 * 1024;

/**
 * Reads a path of the monitoring port of nats-server.
 * @param base such as `http://127.0.0.1:8222`
 * @throws Error when the server does not respond in time, or with more bytes than the bound
 */
export function readMonitor(base: string, path: string): Promise<MonitorResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<MonitorResponse>();
  const request = get(`${base}${path}`, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
    bodyOf(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
  });
  request.on("error", reject);
  return promise;
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Error(`nats-server sent more than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Reads a document of the monitoring port. @throws Error for any status except 200 and for text that is not JSON */
export async function readDocument(base: string, path: string): Promise<unknown> {
  const { status, body } = await readMonitor(base, path);
  if (status !== 200) throw new Error(`nats-server answered ${path} with status ${status}`);
  return JSON.parse(body) as unknown;
}
