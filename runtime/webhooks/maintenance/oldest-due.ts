import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import { laneQueues } from "../../nats/layout.ts";
import type { Partner } from "../partners/partner.ts";
import type { PartnerMetrics } from "../telemetry/partner-metrics.ts";

interface OldestDueDeps {
  readonly deliveries: Pick<DeliveriesStream, "oldest" | "size">;
  /** Partners whose home this pod is. */
  readonly own: () => readonly Partner[];
  readonly metrics: PartnerMetrics;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

/** Time between two looks, a little less than five turns of a second. */
const lookMs = 4_500;
/** Partners that one look goes through; the others have their turn in the next. */
const partnersMax = 32;
const secondMs = 1_000;

/**
 * Tells how long the delivery has been due that has been for longest: first attempts since they were routed, retries
 * since their time came, held back by a rate or a breaker or not. What waits for the time of its retry is not due.
 * While nothing waits at all, no partner is looked at.
 *
 * @returns one turn, to be called often
 */
export function createOldestDue({ deliveries, own, metrics, now }: OldestDueDeps): () => Promise<void> {
  let nextAtMs = 0;
  let position = 0;
  const behind = new Set<string>();
  const age = async (partner: string): Promise<number> => {
    const found = await Promise.all(laneQueues.map((queue) => deliveries.oldest(queue, partner)));
    const times = found.flatMap((message) => message?.storedAtMs ?? []);
    return times.length === 0 ? 0 : Math.max(0, now() - Math.min(...times)) / secondMs;
  };
  return async () => {
    if (performance.now() < nextAtMs) {
      return;
    }
    nextAtMs = performance.now() + lookMs;
    const all = (await deliveries.size()).messages === 0 ? 0 : await age("*");
    metrics.oldestDue(undefined, all);
    const partners = own();
    const known = new Set(partners.map(({ label }) => label));
    for (const label of [...behind].filter((one) => all === 0 || !known.has(one))) {
      behind.delete(label);
      metrics.oldestDue(label, 0);
    }
    const some = all === 0 ? [] : turn(partners, position);
    position = partners.length === 0 ? 0 : (position + some.length) % partners.length;
    for (const { label, key: token } of some) {
      metrics.oldestDue(label, await age(token));
      behind.add(label);
    }
  };
}

/** So many partners from a position on, each at most once. */
function turn(partners: readonly Partner[], position: number): readonly Partner[] {
  return [...partners.slice(position), ...partners.slice(0, position)].slice(0, partnersMax);
}
