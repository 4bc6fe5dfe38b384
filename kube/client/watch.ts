import type { Call, Caller } from "./call.ts";
import type { Clock } from "../../limits/clock.ts";
import { Deadline } from "./deadline.ts";
import type { KubeObject } from "./resource.ts";
import { brokenTransport } from "./transport.ts";
import { FrameSplitter, type WatchEvent, parseFrame } from "./watch-frames.ts";

/** Bounds and ends of one watch. */
interface WatchLimits {
  /** Bound on the wait for the response's head, in milliseconds. */
  readonly responseMs: number;
  /** The watch fails after this time without a byte, in milliseconds. */
  readonly silenceMs: number;
  /** Called for the head of the response and for every chunk of its body. */
  readonly onData?: (() => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Yields the events of one watch request. It ends when the server ends it between two frames.
 *
 * @throws KubeError for every other end: the error of an `ERROR` frame or of the status, `transient` for silence, a
 *   broken connection or half a frame, `aborted` for the caller's signal
 */
export async function* watchEvents<T extends KubeObject>(
  caller: Caller,
  clock: Clock,
  call: Call,
  limits: WatchLimits,
): AsyncGenerator<WatchEvent<T>, void> {
  const what = `watch ${call.path}`;
  const deadline = new Deadline(clock, what, limits.signal);
  try {
    deadline.limit(limits.responseMs);
    const { body } = await caller.open(call, deadline.signal);
    deadline.limit(limits.silenceMs);
    limits.onData?.();
    const frames = new FrameSplitter(what);
    for await (const chunk of body) {
      deadline.touch();
      limits.onData?.();
      yield* eventsOf<T>(what, frames.push(chunk as Uint8Array));
    }
    frames.end();
  } catch (error) {
    throw brokenTransport(what, error, deadline.signal);
  } finally {
    deadline.end();
  }
}

function* eventsOf<T extends KubeObject>(what: string, frames: readonly string[]): Generator<WatchEvent<T>, void> {
  for (const frame of frames) {
    const event = parseFrame<T>(what, frame);
    if (event !== undefined) yield event;
  }
}
