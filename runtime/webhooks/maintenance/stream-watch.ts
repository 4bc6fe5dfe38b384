import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import { untilAvailable } from "../../nats/connection/retry-until-reply.ts";
import type { Layout } from "../../nats/layout.ts";
import { lossOf, readIdentities, serveIdentities, type StreamRecord } from "../../nats/streams/stream-identities.ts";
import type { Log } from "../log.ts";
import type { StreamSettings } from "../../config/settings/settings.ts";
import { readSize } from "../../nats/messages/stored-messages.ts";
import type { DeliveryMetrics } from "../telemetry/delivery-metrics.ts";

/** Detects streams that were deleted or replaced after this pod started. */
export type StreamWatch = Awaited<ReturnType<typeof createStreamWatch>>;

interface StreamFillDeps {
  readonly nats: NatsConnectionHandle;
  readonly layout: Layout;
  readonly settings: StreamSettings;
  readonly metrics: Pick<DeliveryMetrics, "streamBytes" | "streamBytesMax">;
}

/** Time between two reads: a little less than ten polls of one second. */
const readMs = 9_500;

/**
 * @param record gets the streams that it lacks
 * @throws Error when JetStream does not respond
 */
export async function createStreamWatch(
  nats: NatsConnectionHandle,
  layout: Layout,
  log: Log,
  record?: Pick<StreamRecord, "add">,
) {
  const known = await untilAvailable(() => readIdentities(nats, layout));
  let loss: string | undefined;
  let isRecorded = record === undefined;
  /** Tries until the record has the streams once. */
  const keep = async (): Promise<void> => {
    if (isRecorded) return;
    try {
      await record?.add(known);
      isRecorded = true;
    } catch (error) {
      log.warn({ err: error }, "streams not recorded, retry scheduled");
    }
  };
  await keep();
  return {
    /** The streams at the start of this pod. */
    known,
    /** Describes the loss; undefined while all streams exist. */
    get loss() {
      return loss;
    },
    /** Compares the streams with {@link known}. @throws Error when JetStream does not respond; nothing changes then */
    poll: async () => {
      await keep();
      const before = loss;
      loss = lossOf(known, await readIdentities(nats, layout));
      if (loss !== undefined && loss !== before) log.error({ reason: loss }, "streams lost");
      if (loss === undefined && before !== undefined) log.info({}, "streams restored");
    },
    /** Stops answering requests of other pods. */
    stop: serveIdentities(nats, layout, known),
  };
}

/**
 * Reports the size of each stream with a limit, and the limit. The label is what the stream holds, so that alerts do
 * not depend on the prefix of its name.
 *
 * @returns a function for one poll, to be called often
 */
export function createStreamFill({ nats, layout, settings, metrics }: StreamFillDeps): () => Promise<void> {
  const { events, deliveries, attempts, deadLetters } = layout.streams;
  const streams = [
    ["events", events, settings.events.maxBytes],
    ["deliveries", deliveries, settings.deliveries.maxBytes],
    ["attempts", attempts, settings.attempts.maxBytes],
    ["dead_letters", deadLetters, settings.deadLetters.maxBytes],
  ] as const;
  for (const [stream, , bytesMax] of streams) metrics.streamBytesMax.set({ stream }, bytesMax);
  const report = async (stream: string, name: string): Promise<void> => {
    try {
      metrics.streamBytes.set({ stream }, (await readSize(nats, name)).bytes);
    } catch {
      // An old size would look like a stream that takes nothing.
      metrics.streamBytes.remove({ stream });
    }
  };
  let nextAtMs = 0;
  return async () => {
    if (performance.now() < nextAtMs) return;
    nextAtMs = performance.now() + readMs;
    await Promise.all(streams.map(([stream, name]) => report(stream, name)));
  };
}
