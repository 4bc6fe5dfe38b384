import type { LaneConsumer } from "../../nats/streams/deliveries-stream.ts";
import type { LaneQueue } from "../../nats/layout.ts";
import type { DeliveryContext } from "./delivery-context.ts";
import type { Partner } from "../partners/partner.ts";

/** Largest share of retries among the attempts in flight, so that retries do not delay new events. */
const retryShare = 0.25;

/** Attempts in flight per queue. Their sum is at most `maxInFlight`, unless that is 1. */
export function shareInFlight(maxInFlight: number, hasRetries: boolean): Readonly<Record<LaneQueue, number>> {
  const retry = Math.max(1, Math.floor(maxInFlight * retryShare));
  return { first: hasRetries ? Math.max(1, maxInFlight - retry) : maxInFlight, retry };
}

/** Largest share of attempts straight from events among first attempts: a pod that takes a lane over waits for them. */
const directFirstShare = 0.5;

/** Attempts of a partner that are made straight from events at once; none for a small `maxInFlight`. */
export function directShare(maxInFlight: number): number {
  return Math.floor(shareInFlight(maxInFlight, true).first * directFirstShare);
}

/** The consumer of a queue of a partner's own lane. Its metadata shows the retry schedule in `nats consumer info`. */
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
 * Ensures the consumer of retries of a partner's own lane, which does not exist before the first failure. The pod that
 * pulls the lane finds a new consumer within seconds.
 */
export async function ensureRetries({ deliveries }: DeliveryContext, partner: Partner): Promise<void> {
  if ((await deliveries.laneState("retry", partner.lane)) !== undefined) return;
  await deliveries.ensureConsumer(
    partnerConsumer(partner, "retry", shareInFlight(partner.config.delivery.maxInFlight, true).retry),
  );
}
