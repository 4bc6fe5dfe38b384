// Telemetry: Prometheus metrics and `traceparent` of deliveries. The history for callers is in `history/`.
import type { Registry } from "prom-client";
import { instrumentsOf } from "../../../limits/instruments.ts";
import { createTracedHistogram } from "../../tracing/traced-histogram.ts";

/** Prometheus metrics of deliveries. Labels come from closed lists; metrics by partner are separate. */
export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>;

const attemptSecondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const deliverySecondsBuckets = [0.01, 0.05, 0.1, 0.5, 1, 3, 10, 60, 600, 3_600, 86_400];

const prefix = "heliograph_webhook_";

/** Registers the metrics in `registry`. */
export function createDeliveryMetrics(registry: Registry) {
  const { counter, gauge } = instrumentsOf(registry, prefix);
  // Every process of a pod reads the same streams.
  const ofStream = { aggregator: "max" } as const;
  return {
    /** By `outcome`: `stored`, `duplicate`, `reused`, `taken` (by another tenant), `refused`, `unavailable`. */
    ingested: counter("ingest_total", "Requests to store an event.", ["outcome"]),
    routed: counter("routed_total", "Deliveries published for events."),
    /** By `reason`: `no_subscription` when no subscription matches, `not_permitted` when a right was withdrawn. */
    unrouted: counter(
      "unrouted_total",
      "Events that a partner did not get: no subscription matched, or a right was withdrawn.",
      ["reason"],
    ),
    /** By settlement: `delivered`, `retry`, `rejected`, `dead`, `disabled`. */
    attempts: counter("attempts_total", "Delivery attempts.", ["outcome"]),
    attemptSeconds: createTracedHistogram(registry, {
      name: `${prefix}attempt_duration_seconds`,
      help: "Time of one delivery attempt.",
      labelNames: ["outcome"],
      buckets: attemptSecondsBuckets,
    }),
    deliverySeconds: createTracedHistogram(registry, {
      name: `${prefix}delivery_duration_seconds`,
      help: "Time from the acceptance of an event to its delivery.",
      buckets: deliverySecondsBuckets,
    }),
    inFlight: gauge("in_flight", "Attempts in flight."),
    /** By `state`: `rejected` or `dead`. Any growth raises an alert. */
    deadLetters: counter("dead_letters_total", "Deliveries that ended without success.", ["state", "reason"]),
    blockedPartners: gauge("blocked_partners", "Partners stopped because the dead letter stream is full."),
    /** By `reason`: `max_deliver`, `terminated`, `orphan`. */
    rescued: counter("rescued_total", "Republished messages that their consumer would not redeliver.", ["reason"]),
    recordsLost: counter("attempt_records_lost_total", "Attempts whose record was not stored."),
    /** By `stream`: `events`, `deliveries`, `attempts`, `dead_letters`. */
    streamBytes: gauge("stream_bytes", "Size of a stream in NATS.", ["stream"], ofStream),
    streamBytesMax: gauge("stream_bytes_max", "Maximum size of a stream by the settings.", ["stream"], ofStream),
  };
}
