import { type Clock, withinTime } from "../../../limits/clock.ts";
import { NoReplyError } from "../connection/requests.ts";
import type { PublishResult } from "../messages/publish.ts";

/** A stream that this pod writes, as `/readyz` names it. */
export interface WrittenStream {
  readonly name: string;
  /** Asks the stream to change nothing, which its servers must agree on. @throws Error when they do not */
  readonly probe: () => Promise<void>;
  /** Publishes a message that nobody gets. @default a probe takes its place */
  readonly publish?: () => Promise<PublishResult>;
}

/** What the writes and probes of the streams of this pod show. */
export type StreamWrites = ReturnType<typeof createStreamWrites>;

/** Age from which a stored message or a probe shows nothing about now. With the limit below: five seconds at most. */
const freshMs = 1_500;
/** Time limit of a probe. */
const probeMs = 1_500;
const never = Number.NEGATIVE_INFINITY;
/** The stream is full, or the message is too large: the servers of the stream agreed on that. */
const fullCodes: ReadonlySet<number> = new Set([10_054, 10_077]);

interface StreamState {
  storedAtMs: number;
  probedAtMs: number;
  fault: string | undefined;
}

/** Creates the notes of a pod for which all streams are well. */
export function createStreamWrites(streams: readonly WrittenStream[], clock: Pick<Clock, "nowMs">) {
  const states = new Map<string, StreamState>(
    streams.map(({ name }) => [name, { storedAtMs: never, probedAtMs: never, fault: undefined }]),
  );
  const note = async (stream: string, publish: () => Promise<PublishResult>): Promise<PublishResult> => {
    const state = states.get(stream);
    try {
      const result = await publish();
      if (state !== undefined) noteResult(state, stream, result, clock.nowMs());
      return result;
    } catch (error) {
      if (state !== undefined && isLoss(error)) state.fault = `${stream} does not respond`;
      throw error;
    }
  };
  const look = async ({ name, probe, publish }: WrittenStream): Promise<void> => {
    const state = states.get(name);
    if (state === undefined || isFresh(state, clock.nowMs())) return;
    state.probedAtMs = clock.nowMs();
    try {
      await withinTime(probe(), probeMs, () => new Error("no response in time"));
    } catch {
      state.fault = `${name} does not respond`;
      return;
    }
    if (state.fault === undefined) return;
    if (publish === undefined) state.fault = undefined;
    // The result is noted, and a failure is an outcome like any other.
    else await note(name, publish).catch(() => undefined);
  };
  return {
    /** Passes on the result of a publish and notes it. @throws what the publish throws */
    note,
    /** The stream that stores nothing and why; undefined while all do. */
    get fault() {
      return states.values().find(({ fault }) => fault !== undefined)?.fault;
    },
    /** Probes each stream that stored nothing of late. Never rejects. */
    poll: async () => void (await Promise.all(streams.map(look))),
  };
}

/** A fault is looked at in every poll. */
function isFresh({ storedAtMs, probedAtMs, fault }: StreamState, nowMs: number): boolean {
  return fault === undefined && nowMs - Math.max(storedAtMs, probedAtMs) < freshMs;
}

/** A duplicate or an unexpected sequence comes from one server, and a stream that is full still works. */
function noteResult(state: StreamState, stream: string, result: PublishResult, nowMs: number): void {
  if (result.kind === "stored") {
    state.storedAtMs = nowMs;
    state.fault = undefined;
  } else if (result.kind === "rejected" && !fullCodes.has(result.code))
    state.fault = `${stream} stores nothing: ${result.detail}`;
}

/** Without a connection, the part `nats` has the fault. */
function isLoss(error: unknown): boolean {
  return error instanceof NoReplyError && (error.reason === "timeout" || error.reason === "no_responders");
}
