import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import { laneQueues } from "../../nats/layout.ts";
import type { PartnerFigures } from "../live/partner-figures.ts";
import type { Partner } from "../partners/partner.ts";
import type { PartnerMetrics } from "../telemetry/partner-metrics.ts";

interface OldestDueDeps {
  readonly deliveries: Pick<DeliveriesStream, "oldest" | "size">;
  /** Partners whose lanes this pod owns. */
  readonly own: () => readonly Partner[];
  readonly metrics: PartnerMetrics;
  readonly figures: Pick<PartnerFigures, "oldest">;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

/** Time between two reads: a little less than five polls of one second. */
const readMs = 4_500;
/** Partners of one read; the next read continues with the others. */
const partnersMax = 32;
const secondMs = 1_000;

/**
 * Reports the age of the oldest due delivery, of all partners and of each. A first attempt is due when it is routed,
 * and a retry at its time. Delays by a rate or a circuit breaker count. Of a partner that is paused or held, nothing is
 * due; the age over all partners includes its deliveries. While the stream is empty, no partner is read.
 *
 * @returns a function for one poll, to be called often
 */
export function createOldestDue({ deliveries, own, metrics, figures, now }: OldestDueDeps): () => Promise<void> {
  let nextAtMs = 0;
  let position = 0;
  const reported = new Set<string>();
  const dueSinceMs = async (partner: string): Promise<number | undefined> => {
    const found = await Promise.all(laneQueues.map((queue) => deliveries.oldest(queue, partner)));
    const times = found.flatMap((message) => message?.storedAtMs ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  };
  const ageOf = (sinceMs: number | undefined): number =>
    sinceMs === undefined ? 0 : Math.max(0, now() - sinceMs) / secondMs;
  return async () => {
    if (performance.now() < nextAtMs) {
      return;
    }
    nextAtMs = performance.now() + readMs;
    const all = (await deliveries.size()).messages === 0 ? 0 : ageOf(await dueSinceMs("*"));
    metrics.oldestDue(undefined, all);
    const partners = own().filter(({ config }) => config.state !== "Paused");
    const known = new Set(partners.map(({ label }) => label));
    for (const label of [...reported].filter((one) => all === 0 || !known.has(one))) {
      reported.delete(label);
      metrics.oldestDue(label, 0);
      figures.oldest(label, undefined);
    }
    const some = all === 0 ? [] : nextPartners(partners, position);
    position = partners.length === 0 ? 0 : (position + some.length) % partners.length;
    for (const { label, key } of some) {
      const sinceMs = await dueSinceMs(key);
      metrics.oldestDue(label, ageOf(sinceMs));
      figures.oldest(label, sinceMs);
      reported.add(label);
    }
  };
}

/** The partners of one read, from a position on, each at most once. */
function nextPartners(partners: readonly Partner[], position: number): readonly Partner[] {
  return [...partners.slice(position), ...partners.slice(0, position)].slice(0, partnersMax);
}
