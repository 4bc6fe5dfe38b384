import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Figures of the webhook half. Labels come from closed lists; those by partner, whose number is bounded, are apart. */
export interface DeliveryMetrics {
  /**
   * Requests to store an event, by `outcome`: `stored`, `duplicate`, `reused`, `taken` (by another tenant), `refused`,
   * `unavailable`.
   */
  readonly ingested: Counter<"outcome">;
  /** Deliveries that the router made out of events. */
  readonly routed: Counter;
  /**
   * Events that a partner did not get, by `reason`: `no_subscription` when none wants it, `not_permitted` of withdrawn
   * rights.
   */
  readonly unrouted: Counter<"reason">;
  /** Attempts, by what became of the delivery: `delivered`, `retry`, `rejected`, `dead`, `disabled`. */
  readonly attempts: Counter<"outcome">;
  readonly attemptSeconds: Histogram<"outcome">;
  /** From accepting the event to the partner's 2xx. */
  readonly deliverySeconds: Histogram;
  readonly inFlight: Gauge;
  /** By `state`: `rejected` or `dead`. Any growth is worth an alert. */
  readonly deadLetters: Counter<"state" | "reason">;
  /** Partners whose deliveries stand still because the dead letter stream takes no more. */
  readonly blockedPartners: Gauge;
  /** Messages that JetStream would not have handed out again, by `reason`: `max_deliver`, `terminated`, `orphan`. */
  readonly rescued: Counter<"reason">;
  /** Attempts whose record could not be written. */
  readonly recordsLost: Counter;
}

const attemptSecondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const deliverySecondsBuckets = [0.01, 0.05, 0.1, 0.5, 1, 3, 10, 60, 600, 3_600, 86_400];

/** Registers the figures in `registry`. */
export function createDeliveryMetrics(registry: Registry): DeliveryMetrics {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `heliograph_webhook_${name}`, help, registers });
  const outcome = { labelNames: ["outcome"] as const };
  return {
    ingested: new Counter({ ...named("ingest_total", "Requests to store an event."), ...outcome }),
    routed: new Counter(named("routed_total", "Deliveries made out of events.")),
    unrouted: new Counter({
      ...named("unrouted_total", "Events that no subscription matched, or that a withdrawn right kept from a partner."),
      labelNames: ["reason"] as const,
    }),
    attempts: new Counter({ ...named("attempts_total", "Delivery attempts."), ...outcome }),
    attemptSeconds: new Histogram({
      ...named("attempt_duration_seconds", "Time of one delivery attempt."),
      ...outcome,
      buckets: attemptSecondsBuckets,
    }),
    deliverySeconds: new Histogram({
      ...named("delivery_duration_seconds", "Time from accepting an event to its delivery."),
      buckets: deliverySecondsBuckets,
    }),
    inFlight: new Gauge(named("in_flight", "Attempts under way.")),
    deadLetters: new Counter({
      ...named("dead_letters_total", "Deliveries that ended without success."),
      labelNames: ["state", "reason"] as const,
    }),
    blockedPartners: new Gauge(named("blocked_partners", "Partners stopped by a full dead letter stream.")),
    rescued: new Counter({
      ...named("rescued_total", "Messages that would not have been handed out again."),
      labelNames: ["reason"] as const,
    }),
    recordsLost: new Counter(named("attempt_records_lost_total", "Attempts whose record could not be written.")),
  };
}
