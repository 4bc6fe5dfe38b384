import type { LaneConsumer } from "../../nats/streams/deliveries-stream.ts";
import type { LaneQueue } from "../../nats/layout.ts";
import type { DeliveryContext } from "./delivery-context.ts";
import type { Partner } from "../partners/partner.ts";

/** Retries may take at most this part of the attempts under way, so that they never hold back fresh events. */
const retryShare = 0.25;

/** Attempts that each queue may have under way; together never more than the partner allows, unless that is one. */
export function shareInFlight(maxInFlight: number, hasRetries: boolean): Readonly<Record<LaneQueue, number>> {
  const retry = Math.max(1, Math.floor(maxInFlight * retryShare));
  return { first: hasRetries ? Math.max(1, maxInFlight - retry) : maxInFlight, retry };
}

/**
 * The consumer of a queue of a partner's own lane; `consumer info` shows the partner's retry schedule in its metadata.
 */
export function partnerConsumer(
  { config, label, lane }: Partner,
  queue: LaneQueue,
  maxAckPending: number,
): LaneConsumer {
  const metadata = {
    partner: label,
    uid: config.uid,
    retry_schedule_seconds: config.retry.scheduleSeconds.join(" "),
    retry_max_age_seconds: String(config.retry.maxAgeSeconds),
    retry_jitter_percent: String(config.retry.jitterPercent),
  };
  return { queue, lane, maxAckPending, metadata };
}

/**
 * Sees to it that somebody hands out what is put among the retries of a partner's own lane. They have no consumer
 * before the first failure; the pod that pulls the lane finds a new one within seconds.
 */
export async function ensureRetries({ deliveries }: DeliveryContext, partner: Partner): Promise<void> {
  if ((await deliveries.laneState("retry", partner.lane)) !== undefined) return;
  await deliveries.ensureConsumer(
    partnerConsumer(partner, "retry", shareInFlight(partner.config.delivery.maxInFlight, true).retry),
  );
}
