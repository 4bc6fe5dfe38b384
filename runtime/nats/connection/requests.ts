import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from "@nats-io/transport-node";
import type { Outbox } from "./outbox.ts";

/** The reason of a missing answer. Only `no_responders` guarantees that nothing was done. */
type NoReplyReason = "timeout" | "disconnected" | "closed" | "no_responders";

/** A request without a response. It may have had its effect, so it is safe to repeat only with the same ids. */
export class NoReplyError extends Error {
  override readonly name = "Unanswered";
  readonly reason: NoReplyReason;

  constructor(subject: string, reason: NoReplyReason) {
    super(`no response from NATS to ${subject}: ${reason}`);
    this.reason = reason;
  }
}

/** One request. */
interface RequestOptions {
  readonly headers?: MsgHdrs;
  /** @default 2000 */
  readonly timeoutMs?: number;
}

/** Requests of one connection. Answers arrive in any order. */
export type Requests = ReturnType<typeof createRequests>;

interface PendingRequest {
  readonly number: number;
  readonly subject: string;
  readonly deadlineMs: number;
  readonly resolve: (payload: Uint8Array) => void;
  readonly reject: (error: NoReplyError) => void;
}

const timeoutMsDefault = 2_000;
/** Greatest delay of a timeout. */
const sweepMs = 100;
const noRespondersCode = 503;

/**
 * Creates requests over one inbox with one timer for all of them. The client's own `request` creates two promises, a
 * timer and a random inbox per call; it costs about four times as much.
 */
export function createRequests(connection: NatsConnection, outbox: Outbox, isConnected: () => boolean) {
  const inbox = createInbox();
  const pending = new Map<string, PendingRequest>();
  let lastToken = 0;
  connection.subscribe(`${inbox}.*`, {
    callback: (error, message) => {
      if (error === null) settleRequest(pending, message, inbox.length + 1);
    },
  });
  const sweep = sweeper(pending);
  const failUpTo = (last: number, reason: NoReplyReason, to?: string): void => {
    for (const [token, { number, subject, reject }] of pending) {
      if (number > last || (to !== undefined && to !== subject)) continue;
      pending.delete(token);
      reject(new NoReplyError(subject, reason));
    }
  };
  return {
    /**
     * Resolves with the payload of the response.
     * @throws NoReplyError after the timeout; at once without a connection, when it breaks, or without a responder
     */
    request: (subject: string, payload: Uint8Array | string, options: RequestOptions = {}) =>
      new Promise<Uint8Array>((resolve, reject) => {
        if (!isConnected()) {
          // The client would keep the message until a reconnect, which may come long after the caller gave up.
          reject(new NoReplyError(subject, connection.isClosed() ? "closed" : "disconnected"));
          return;
        }
        lastToken += 1;
        const token = lastToken.toString(36);
        const deadlineMs = performance.now() + (options.timeoutMs ?? timeoutMsDefault);
        const reply = `${inbox}.${token}`;
        const { headers } = options;
        outbox.publish(subject, payload, headers === undefined ? { reply } : { reply, headers });
        pending.set(token, { number: lastToken, subject, deadlineMs, resolve, reject });
        sweep();
      }),
    /** Fails all pending requests; their responses are lost with the connection. */
    failAll: (reason: NoReplyReason) => failUpTo(lastToken, reason),
    /** Number of the last request so far, for {@link failUpTo} and {@link hasPendingUpTo}. */
    last: () => lastToken,
    /** Fails the pending requests that were made until then. @param to their subject. @default all */
    failUpTo,
    /** True while a request that was made until then has no response. */
    hasPendingUpTo: (last: number) => [...pending.values()].some(({ number }) => number <= last),
  };
}

function settleRequest(pending: Map<string, PendingRequest>, message: Msg, tokenStart: number): void {
  const token = message.subject.slice(tokenStart);
  const request = pending.get(token);
  if (request === undefined) return;
  pending.delete(token);
  if (message.data.length === 0 && message.headers?.code === noRespondersCode) {
    request.reject(new NoReplyError(request.subject, "no_responders"));
    return;
  }
  request.resolve(message.data);
}

/** Runs one timer while requests are pending. */
function sweeper(pending: Map<string, PendingRequest>): () => void {
  let timer: NodeJS.Timeout | undefined;
  const sweep = (): void => {
    const now = performance.now();
    for (const [token, request] of pending) {
      if (request.deadlineMs <= now) {
        pending.delete(token);
        request.reject(new NoReplyError(request.subject, "timeout"));
      }
    }
    timer = pending.size > 0 ? setTimeout(sweep, sweepMs) : undefined;
    timer?.unref();
  };
  return () => {
    if (timer === undefined) {
      timer = setTimeout(sweep, sweepMs);
      timer.unref();
    }
  };
}
