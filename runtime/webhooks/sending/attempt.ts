import type { AttemptOutcome } from "../settlement/outcome.ts";
import { Connections } from "./connections.ts";
import { Exchange } from "./exchange.ts";
import { type Connector, guardedConnector } from "./guarded-connect.ts";
import { requestMessage, type RequestMessage, type RequestParts } from "./http-connection.ts";
import { createResolver } from "./dns.ts";

/** One request and its limits. */
interface AttemptRequest extends RequestParts {
  /** Time limit of the whole attempt, from look-up to last byte. */
  readonly timeoutMs: number;
  /** Aborts the attempt, with outcome `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** As in `SendRequest`. */
  readonly maySend?: (() => boolean) | undefined;
  /** Bytes of the response body that are read. */
  readonly responseBytesMax: number;
}

/** An outcome with everything of the response that was read. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome;
  /** All headers; empty without a response. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it came. */
  readonly body: () => Buffer;
}

/** One request to any address, for tools of a person's own machine. */
interface UnguardedRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  readonly responseBytesMax: number;
}

/** Makes one attempt. Never rejects. */
export async function makeAttempt(
  connections: Connections,
  connect: Connector,
  request: AttemptRequest,
): Promise<AttemptResult> {
  let message: RequestMessage;
  try {
    message = requestMessage(request);
  } catch (error) {
    const detail = (error as Error).message;
    const outcome = { kind: "failure", reason: "internal", detail, timings: { totalMs: 0 } } as const;
    return { outcome, headers: {}, body: () => Buffer.alloc(0) };
  }
  return await new Promise((settle) => {
    const exchange = new Exchange({
      connect: (trace) => connect(request.url, trace),
      maySend: request.maySend,
      bodyBytesMax: request.responseBytesMax,
      onSettled: (outcome) => {
        release();
        connections.release(exchange);
        settle({ outcome, headers: exchange.headers, body: () => exchange.bodyBytes });
      },
    });
    const release = limit(exchange, request);
    connections.send(message, exchange);
  });
}

/**
 * Ends the exchange at its time limit or at the signal of the caller. Returns a function that removes both. A response
 * that arrived while this process was busy is read before the limit applies.
 */
function limit(exchange: Exchange, { timeoutMs, signal }: AttemptRequest): () => void {
  const timer = setTimeout(() => setImmediate(() => exchange.expire()), timeoutMs);
  const abandon = (): void => exchange.abandon();
  signal?.addEventListener("abort", abandon, { once: true });
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abandon);
  };
}

/**
 * Makes one attempt on a connection of its own, with the client that sends deliveries. So an endpoint looks the same to
 * a tool as to the sender. No address is checked. Never rejects.
 */
export async function makeUnguardedAttempt(request: UnguardedRequest): Promise<AttemptResult> {
  const { timeoutMs } = request;
  const connections = new Connections({ idleMs: 0, idleMsMax: 0, ageMsMax: timeoutMs });
  const connect = guardedConnector({ guard: undefined, tls: {}, resolve: createResolver(), timeoutMs });
  try {
    return await makeAttempt(connections, connect, { ...request, method: "POST" });
  } finally {
    connections.destroy();
  }
}
