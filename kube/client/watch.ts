import type { Clock } from "../../limits/clock.ts";
import { type ApiCall, type Caller, Deadline } from "./call.ts";
import { errorOfStatus, KubeError, readStatus } from "./kube-error.ts";
import type { KubeObject } from "./resource.ts";
import { brokenTransport } from "./transport.ts";

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

/** One event of a watch with its object. Source: Kubernetes API concepts, "Efficient detection of changes". */
export interface WatchEvent<T> {
  /** `BOOKMARK` carries only the resource version up to which the server sent all events. */
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: T;
}

/** Bound on a frame: above an object of 1.5 MiB, the largest in etcd, in any JSON escaping. */
const frameBytesMax = 16 * 1024 * 1024;
const lineFeed = 0x0a;
const eventTypes: ReadonlySet<string> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

/**
 * Yields the events of one watch request. It ends when the server ends it between two frames.
 *
 * @throws KubeError for every other end: the error of an `ERROR` frame or of the status, `transient` for silence, a
 *   broken connection or half a frame, `aborted` for the caller's signal
 */
export async function* watchEvents<T extends KubeObject>(
  caller: Caller,
  clock: Clock,
  call: ApiCall,
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

/** Splits the bytes of a watch into frames, one per line, across the chunks of the network. */
export class FrameSplitter {
  readonly #what: string;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** @param what names the request in errors */
  constructor(what: string) {
    this.#what = what;
  }

  /**
   * Takes the next bytes and returns the frames that they complete.
   *
   * @throws KubeError `transient` when a frame exceeds its bound
   */
  push(chunk: Uint8Array): readonly string[] {
    const frames: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      this.#keep(chunk.subarray(start, end));
      frames.push(this.#take());
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return frames.filter((frame) => frame.trim() !== "");
  }

  /** @throws KubeError `transient` when the stream ended inside a frame */
  end(): void {
    if (this.#bytes > 0)
      throw new KubeError("transient", `${this.#what}: ended inside a frame`, { reason: "HalfFrame" });
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes > frameBytesMax) {
      throw new KubeError("transient", `${this.#what}: a frame exceeds ${frameBytesMax} bytes`, {
        reason: "FrameTooLarge",
      });
    }
  }

  #take(): string {
    const text = Buffer.concat(this.#parts, this.#bytes).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    return text;
  }
}

/**
 * Parses the event of a frame. Returns undefined for an unknown type.
 *
 * @throws KubeError the error of an `ERROR` frame; `transient` when the frame is not an event
 */
export function parseFrame<T extends KubeObject>(what: string, frame: string): WatchEvent<T> | undefined {
  const { type, object } = parseJson(what, frame);
  if (type === "ERROR") throw errorOfStatus(what, readStatus(object));
  if (typeof type !== "string" || typeof object !== "object" || object === null || !("metadata" in object))
    throw new KubeError("transient", `${what}: a frame is not an event`, { reason: "BadFrame" });
  // The server's schema checks the object; this function checks only the envelope.
  return eventTypes.has(type) ? ({ type, object } as WatchEvent<T>) : undefined;
}

function parseJson(what: string, frame: string): { readonly type?: unknown; readonly object?: unknown } {
  try {
    const value: unknown = JSON.parse(frame);
    if (typeof value === "object" && value !== null) return value;
    throw new TypeError("not an object");
  } catch (error) {
    throw new KubeError("transient", `${what}: a frame is not JSON`, { reason: "BadFrame", cause: error });
  }
}
