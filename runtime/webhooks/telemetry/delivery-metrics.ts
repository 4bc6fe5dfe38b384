// Telemetry: Prometheus metrics and `traceparent` of deliveries. The history for callers is in `history/`.
import { Counter, Gauge, type Registry } from "prom-client";
import { createTracedHistogram } from "../../tracing/traced-histogram.ts";

/** Prometheus metrics of deliveries. Labels come from closed lists; metrics by partner are separate. */
export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>;

const attemptSecondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const deliverySecondsBuckets = [0.01, 0.05, 0.1, 0.5, 1, 3, 10, 60, 600, 3_600, 86_400];

/** Registers the metrics in `registry`. */
export function createDeliveryMetrics(registry: Registry) {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `heliograph_webhook_${name}`, help, registers });
  const outcome = { labelNames: ["outcome"] as const };
  const reason = { labelNames: ["reason"] as const };
  // Every process of a pod reads the same streams.
  const stream = { labelNames: ["stream"] as const, aggregator: "max" as const };
  return {
    /** By `outcome`: `stored`, `duplicate`, `reused`, `taken` (by another tenant), `refused`, `unavailable`. */
    ingested: new Counter({ ...named("ingest_total", "Requests to store an event."), ...outcome }),
    routed: new Counter(named("routed_total", "Deliveries published for events.")),
    /** By `reason`: `no_subscription` when no subscription matches, `not_permitted` when a right was withdrawn. */
    unrouted: new Counter({
      ...named(
        "unrouted_total",
        "Events that a partner did not get: no subscription matched, or a right was withdrawn.",
      ),
      ...reason,
    }),
    /** By settlement: `delivered`, `retry`, `rejected`, `dead`, `disabled`. */
    attempts: new Counter({ ...named("attempts_total", "Delivery attempts."), ...outcome }),
    attemptSeconds: createTracedHistogram(registry, {
      ...named("attempt_duration_seconds", "Time of one delivery attempt."),
      ...outcome,
      buckets: attemptSecondsBuckets,
    }),
    deliverySeconds: createTracedHistogram(registry, {
      ...named("delivery_duration_seconds", "Time from the acceptance of an event to its delivery."),
      buckets: deliverySecondsBuckets,
    }),
    inFlight: new Gauge(named("in_flight", "Attempts in flight.")),
    /** By `state`: `rejected` or `dead`. Any growth raises an alert. */
    deadLetters: new Counter({
      ...named("dead_letters_total", "Deliveries that ended without success."),
      labelNames: ["state", "reason"] as const,
    }),
    blockedPartners: new Gauge(named("blocked_partners", "Partners stopped because the dead letter stream is full.")),
    /** By `reason`: `max_deliver`, `terminated`, `orphan`. */
    rescued: new Counter({
      ...named("rescued_total", "Republished messages that their consumer would not redeliver."),
      ...reason,
    }),
    recordsLost: new Counter(named("attempt_records_lost_total", "Attempts whose record was not stored.")),
    /** By `stream`: `events`, `deliveries`, `attempts`, `dead_letters`. */
    streamBytes: new Gauge({ ...named("stream_bytes", "Size of a stream in NATS."), ...stream }),
    streamBytesMax: new Gauge({ ...named("stream_bytes_max", "Maximum size of a stream by the settings."), ...stream }),
  };
}
