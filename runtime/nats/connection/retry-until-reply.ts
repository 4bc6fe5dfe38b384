import { setTimeout as sleep } from "node:timers/promises";
import { JetStreamApiError, JetStreamError } from "@nats-io/jetstream";
import { RequestError, TimeoutError } from "@nats-io/transport-node";
import { NoReplyError } from "./requests.ts";

/** Bounds of the retries of an unanswered step. */
interface RetryLimits {
  /** Milliseconds after which the last {@link NoReplyError} is thrown. @default never */
  readonly giveUpAfterMs?: number;
  /** Ends the tries early with the last {@link NoReplyError}. */
  readonly signal?: AbortSignal;
}

const pauseFirstMs = 50;
const pauseMaxMs = 1_000;

/**
 * Repeats a step with growing pauses while it is unanswered. The step itself must make a repetition harmless: by a
 * message id, by an expected sequence, or because it only reads.
 * @throws NoReplyError when the bound is reached; every other error of the step at once
 */
export async function retryUntilReply<T>(step: () => Promise<T>, limits: RetryLimits = {}): Promise<T> {
  const deadlineMs = performance.now() + (limits.giveUpAfterMs ?? Number.POSITIVE_INFINITY);
  for (let tries = 1; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      const pauseMs = pauseAfter(tries);
      const isOver = performance.now() + pauseMs >= deadlineMs || limits.signal?.aborted === true;
      if (!(error instanceof NoReplyError) || isOver) throw error;
      await sleep(pauseMs, undefined, { ref: false });
    }
  }
}

/** Pause after this many failed tries, in milliseconds. */
export function pauseAfter(tries: number): number {
  return Math.min(pauseFirstMs * 2 ** (tries - 1), pauseMaxMs);
}

const reloadMsMax = 250;
const reloadPauseMs = 20;
const apiPrefix = "$JS.API.";

/** True for a request to JetStream's API, for {@link untilReceived}. */
export function isToApi(subject: string): boolean {
  return subject.startsWith(apiPrefix);
}

/**
 * Repeats a request to JetStream's API that nobody received. A server that reloads its configuration has no API for
 * some milliseconds. Nothing was done, so that the repetition is harmless.
 * @param msMax bound on the repetitions. @default 250
 * @throws the last error of the request; one of another kind at once
 */
export async function untilReceived<T>(request: () => Promise<T>, msMax = reloadMsMax): Promise<T> {
  const deadlineMs = performance.now() + msMax;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!hasNoResponders(error) || performance.now() >= deadlineMs) throw error;
      await sleep(reloadPauseMs, undefined, { ref: false });
    }
  }
}

/** Requests that may be sent twice: they read, or set what they name. */
const repeatable = /^\$JS\.API\.(?:STREAM\.INFO|CONSUMER\.(?:INFO|CREATE|DURABLE\.CREATE|PAUSE))\./u;
const againMs = 1_000;

/**
 * Sends a request to JetStream's API again every second until a response to one of them arrives: without a leader, the
 * servers drop it, and the election does not bring it back. Other requests are sent once.
 *
 * @param send sends it with this limit in milliseconds
 */
export function requestAgain<T>(subject: string, send: (timeoutMs: number) => Promise<T>, msMax: number): Promise<T> {
  if (!repeatable.test(subject)) return send(msMax);
  const deadlineMs = performance.now() + msMax;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const sendOne = (): void => void send(Math.max(1, deadlineMs - performance.now())).then(resolve, reject);
  sendOne();
  const timer = setInterval(sendOne, againMs).unref();
  return promise.finally(() => clearInterval(timer));
}

/** True for an error of a request that no server received. */
export function hasNoResponders(error: unknown): boolean {
  if (error instanceof NoReplyError) return error.reason === "no_responders";
  // The client reports a request of its manager that nobody received by this class, which it does not export.
  if (error instanceof Error && error.name === "JetStreamNotEnabled") return hasNoResponders(error.cause);
  return error instanceof RequestError && error.isNoResponders();
}

const availableTimeoutMs = 30_000;
const unavailableStatus = 503;

/**
 * Repeats a step for half a minute while JetStream is unavailable: the first reads and writes of every program use it.
 * As for {@link retryUntilReply}, a repetition must be harmless.
 * @throws the last error of the step; one of another kind at once
 */
export async function untilAvailable<T>(step: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + availableTimeoutMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() >= deadlineMs) throw error;
      await sleep(pauseAfter(tries));
    }
  }
}

/**
 * True for an error of JetStream that passes. A cluster that has just started, or whose stream has no leader, responds
 * with 503 for a while, or not at all, or nobody receives the request. A server that starts again has no connection.
 */
export function isUnavailable(error: unknown): boolean {
  if (hasNoResponders(error)) return true;
  if (error instanceof JetStreamApiError) return error.status === unavailableStatus;
  // A read straight from a stream has the status of a message.
  if (error instanceof JetStreamError) return Reflect.get(error, "code") === unavailableStatus;
  if (error instanceof NoReplyError) return error.reason === "timeout" || error.reason === "disconnected";
  return error instanceof TimeoutError;
}
