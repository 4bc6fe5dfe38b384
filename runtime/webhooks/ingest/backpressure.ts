import { ApiError } from "../../errors/api-error.ts";
import { NoReplyError } from "../../nats/connection/requests.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { Log } from "../log.ts";

/** Measures whether the events stream is nearly full. */
export interface Backpressure {
  readonly isFull: boolean;
  /** Measures again. @throws Error when JetStream does not respond */
  poll(): Promise<void>;
}

/** Share of the maximum size above which ingest rejects events. Events that are being stored still fit. */
const fullShare = 0.95;
/** Share of the maximum size below which ingest accepts events again. */
const resumeShare = 0.9;

/** Creates the measurement. Only unrouted events can fill the stream: a maintenance job deletes routed ones before. */
export function createBackpressure(events: Pick<EventsStream, "size">, bytesMax: number, log: Log): Backpressure {
  let isFull = false;
  return {
    get isFull() {
      return isFull;
    },
    poll: async () => {
      const { bytes } = await events.size();
      const next = bytes > bytesMax * (isFull ? resumeShare : fullShare);
      if (next !== isFull) {
        isFull = next;
        log.warn({ bytes, bytesMax }, isFull ? "event store nearly full, producers rejected" : "events accepted again");
      }
    },
  };
}

/** Events that wait for JetStream at once, and their bytes. */
const inFlightMax = 2_048;
const bytesInFlightMax = 64 * 1024 * 1024;
export const retryAfterSeconds = 1;
/** A full stream shrinks as its events age, not within a second. */
export const retryAfterFullSeconds = 30;

/** The error of an event that may not be stored now. */
export function unavailable(detail: string, afterSeconds: number, cause?: unknown): ApiError {
  return new ApiError("events_unavailable", detail, { retryAfterSeconds: afterSeconds, cause });
}

/** Runs a step, or rejects it at once. @throws ApiError, and the errors of the step */
export type Admit = <T>(bytes: number, step: () => Promise<T>) => Promise<T>;

/**
 * Limits the events that wait for JetStream. While it does not respond, one event at a time probes it, and all others
 * are rejected at once.
 */
export function createAdmission(isConnected: () => boolean, isFull: () => boolean): Admit {
  const waiting = { events: 0, bytes: 0 };
  let isSilent = false;
  const check = (bytes: number): void => {
    if (!isConnected() || (isSilent && waiting.events > 0))
      throw unavailable("The event store does not respond", retryAfterSeconds);
    if (isFull()) throw unavailable("The event store is nearly full", retryAfterFullSeconds);
    if (waiting.events >= inFlightMax || waiting.bytes + bytes > bytesInFlightMax)
      throw unavailable("Too many concurrent events", retryAfterSeconds);
  };
  return async (bytes, step) => {
    check(bytes);
    waiting.events += 1;
    waiting.bytes += bytes;
    try {
      const result = await step();
      isSilent = false;
      return result;
    } catch (error) {
      isSilent = error instanceof NoReplyError;
      throw error;
    } finally {
      waiting.events -= 1;
      waiting.bytes -= bytes;
    }
  };
}
