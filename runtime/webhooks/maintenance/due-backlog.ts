import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { Partner } from "../partners/partner.ts";
import type { PartnerMetrics } from "../telemetry/partner-metrics.ts";

interface DueBacklogDeps {
  readonly deliveries: Pick<DeliveriesStream, "dueByLane" | "dueByPartner" | "size">;
  readonly partners: () => readonly Partner[];
  /** Whether this pod is the home of the lane. */
  readonly isOwner: (lane: string) => boolean;
  readonly metrics: Pick<PartnerMetrics, "backlog">;
}

type Due = readonly [partner: string, count: number];

/** Time between two looks, a little less than five turns of a second. */
const lookMs = 4_500;
/** In a shared lane the server goes through what waits to tell whose it is: not when that is more than this. */
const splitMax = 10_000;

/**
 * Tells how many deliveries are due or in flight in the lanes whose home this pod is, so that the figures of all pods
 * add up: by partner, unless more than ten thousand are in one lane that is shared, and in all. What waits for the time
 * of its retry is not due. While nothing waits at all, no consumer is looked at.
 *
 * @returns one turn, to be called often
 */
export function createDueBacklog({ deliveries, partners, isOwner, metrics }: DueBacklogDeps): () => Promise<void> {
  let nextAtMs = 0;
  return async () => {
    if (performance.now() < nextAtMs) {
      return;
    }
    nextAtMs = performance.now() + lookMs;
    const isEmpty = (await deliveries.size()).messages === 0;
    const lanes = isEmpty ? [] : [...(await deliveries.dueByLane())].filter(([lane, due]) => due > 0 && isOwner(lane));
    const labels = new Map(partners().map(({ key: token, label }) => [token, label]));
    const whose = async (lane: string, due: number): Promise<Iterable<Due>> => {
      if (labels.has(lane)) return [[lane, due]];
      return due > splitMax ? [] : deliveries.dueByPartner(lane);
    };
    const split = await Promise.all(lanes.map(([lane, due]) => whose(lane, due)));
    const named = split
      .flatMap((some) => [...some])
      .flatMap(([token, due]): Due[] => {
        const label = labels.get(token);
        return label === undefined ? [] : [[label, due]];
      });
    metrics.backlog(
      lanes.reduce((sum, [, due]) => sum + due, 0),
      named,
    );
  };
}
