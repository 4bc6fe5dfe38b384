import type { StreamSettings } from "../../config/settings/settings.ts";
import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import type { Layout } from "../../nats/layout.ts";
import { readSize } from "../../nats/messages/stored-messages.ts";
import type { DeliveryMetrics } from "../telemetry/delivery-metrics.ts";

interface StreamFillDeps {
  readonly nats: NatsConnectionHandle;
  readonly layout: Layout;
  readonly settings: StreamSettings;
  readonly metrics: Pick<DeliveryMetrics, "streamBytes" | "streamBytesMax">;
}

/** Time between two reads: a little less than ten polls of one second. */
const readMs = 9_500;

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
