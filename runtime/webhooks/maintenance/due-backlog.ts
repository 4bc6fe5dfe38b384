import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { PartnerFigures } from "../live/partner-figures.ts";
import type { Partner } from "../partners/partner.ts";
import type { PartnerMetrics } from "../telemetry/partner-metrics.ts";

interface DueBacklogDeps {
  readonly deliveries: Pick<DeliveriesStream, "dueByLane" | "dueByPartner" | "size">;
  readonly partners: () => readonly Partner[];
  /** True when this pod owns the lane. */
  readonly isOwner: (lane: string) => boolean;
  /** Attempts straight from events that are under way here, by lane. They have no stored delivery. */
  readonly direct: () => ReadonlyMap<string, number>;
  readonly metrics: Pick<PartnerMetrics, "backlog">;
  readonly figures: Pick<PartnerFigures, "counted">;
}

type Due = readonly [partner: string, count: number];

/** Time between two counts: a little less than five polls of one second. */
const countMs = 4_500;
/** A count by partner in a shared lane reads every waiting message. Above this number it is left out. */
const splitMax = 10_000;

/**
 * Reports how many deliveries are due or in flight in the lanes of this pod. The sum over all pods is the total. It
 * reports the total and the number of each partner, but no partners of a shared lane with more than ten thousand. A
 * retry is not due before its time. While the stream is empty, no consumer is read.
 *
 * @returns a function for one poll, to be called often
 */
export function createDueBacklog({
  deliveries,
  partners,
  isOwner,
  direct,
  metrics,
  figures,
}: DueBacklogDeps): () => Promise<void> {
  let nextAtMs = 0;
  return async () => {
    if (performance.now() < nextAtMs) {
      return;
    }
    nextAtMs = performance.now() + countMs;
    const isEmpty = (await deliveries.size()).messages === 0;
    const dueByLane = new Map(isEmpty ? [] : await deliveries.dueByLane());
    for (const [lane, count] of direct()) dueByLane.set(lane, (dueByLane.get(lane) ?? 0) + count);
    const lanes = [...dueByLane].filter(([lane, due]) => due > 0 && isOwner(lane));
    const labels = new Map(partners().map(({ key, label }) => [key, label]));
    const dueIn = async (lane: string, due: number): Promise<Iterable<Due>> => {
      if (labels.has(lane)) return [[lane, due]];
      return due > splitMax ? [] : deliveries.dueByPartner(lane);
    };
    const split = await Promise.all(lanes.map(([lane, due]) => dueIn(lane, due)));
    const named = split
      .flatMap((some) => [...some])
      .flatMap(([key, due]): Due[] => {
        const label = labels.get(key);
        return label === undefined ? [] : [[label, due]];
      });
    metrics.backlog(
      lanes.reduce((sum, [, due]) => sum + due, 0),
      named,
    );
    const byPartner = new Map<string, number>();
    for (const [label, due] of named) byPartner.set(label, (byPartner.get(label) ?? 0) + due);
    const uncounted = new Set(lanes.flatMap(([lane, due]) => (labels.has(lane) || due <= splitMax ? [] : [lane])));
    const owned = partners().flatMap(({ lane }) => (isOwner(lane) && !uncounted.has(lane) ? [lane] : []));
    figures.counted(new Set(owned), byPartner);
  };
}
