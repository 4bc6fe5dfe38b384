// Telemetry: Prometheus metrics and `traceparent` of deliveries. The history for callers is in `history/`.

import type { Registry } from "prom-client";
import { instrumentsOf } from "../../../limits/instruments.ts";
import { createTracedHistogram } from "../../tracing/traced-histogram.ts";
import type { HeldReason, PartnerConfig } from "../../../crds/config.ts";
import { attemptNumber, type DeliveryRecord } from "../records/delivery-record.ts";
import { openCauses, type OpenCause } from "../settlement/circuit-breaker.ts";
import type { AttemptOutcome } from "../settlement/outcome.ts";
import type { Settlement } from "../settlement/settle.ts";
import { settlementRow } from "../settlement/settlement-table.ts";

/** Prometheus metrics of deliveries. Labels come from closed lists; metrics by partner are separate. */
export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>;

const attemptSecondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const deliverySecondsBuckets = [0.01, 0.05, 0.1, 0.5, 1, 3, 10, 60, 600, 3_600, 86_400];

const prefix = "heliograph_webhook_";

/** Registers the metrics in `registry`. */
export function createDeliveryMetrics(registry: Registry) {
  const { counter, gauge } = instrumentsOf(registry, prefix);
  return {
    /** By `outcome`: `stored`, `duplicate`, `reused`, `taken` (by another tenant), `refused`, `unavailable`. */
    ingested: counter("ingest_total", "Requests to store an event.", ["outcome"]),
    searchedTenants: gauge(
      "searched_tenants",
      "Tenants of accepted events whose ids this pod looked up in all tenants since it started, at most 10,000.",
    ),
    undeclared: counter("undeclared_total", "Events whose type or version no event catalog declares."),
    invalidData: counter("invalid_data_total", "Events whose data does not match its schema.", ["type", "version"]),
    deprecatedEvents: counter("deprecated_events_total", "Accepted events of a deprecated version.", [
      "type",
      "version",
    ]),
    eventSchemaBytes: gauge("event_schema_bytes", "Estimated memory of a schema that was used.", ["type", "version"]),
    eventSchemaFaults: counter("event_schema_faults_total", "Schemas that the pod could not read."),
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
    streamBytes: gauge("stream_bytes", "Size of a stream in NATS.", ["stream"]),
    streamBytesMax: gauge("stream_bytes_max", "Maximum size of a stream by the settings.", ["stream"]),
  };
}

/** Prometheus metrics by partner. Source: seed "Webhook Event Delivery" §6. */
export type PartnerMetrics = ReturnType<typeof createPartnerMetrics>;

/** Partners with a label of their own, in order of first use. All further partners share the label `other`. */
const labelledPartnersMax = 200;
const otherLabel = "other";
const durationBuckets = [0.1, 0.5, 1, 3, 10, 60, 600, 3_600];
const attemptsBuckets = [1, 2, 3, 5, 8, 13, 21];
const secondMs = 1_000;
const heldReasons = ["unresolved", "not_permitted", "conflicted"] as const satisfies readonly HeldReason[];

/** Registers the metrics in `registry`. */
export function createPartnerMetrics(registry: Registry) {
  const { responses, ends, durations, attempts, oldest, oldestOf, due, dueOf, pauses, held, lastGood } =
    registerMetrics(registry);
  // Before the first count, 0 would say that nothing waits.
  due.remove();
  oldest.remove();
  const label = boundedLabels(labelledPartnersMax);
  const pausedBy: Readonly<Record<OpenCause, Set<string>>> = { failures: new Set(), rate_limited: new Set() };
  const othersDue = new Map<string, number>();
  return {
    /** Counts a response, or its absence. */
    responded: (partner: string, outcome: AttemptOutcome) =>
      responses.inc({ partner: label(partner), class: classOf(outcome) }),
    /** Counts the end of a delivery and ignores a retry. `acceptedAtMs` and `nowMs` are by JetStream's clock. */
    ended: (partner: string, delivery: DeliveryRecord, settlement: Settlement, nowMs: number) => {
      const { ends: isEnd, state } = settlementRow(settlement);
      if (!isEnd) return;
      const own = label(partner);
      ends.inc({ partner: own, state });
      attempts.observe(attemptNumber(delivery));
      if (settlement.kind === "delivered")
        durations.observe({ partner: own }, Math.max(0, nowMs - delivery.acceptedAtMs) / secondMs);
    },
    /** Deliveries that are due or in flight: all, and by partner. A partner that is not listed has none. */
    backlog: (all: number, byPartner: readonly (readonly [partner: string, due: number])[]) => {
      due.set(all);
      dueOf.reset();
      byPartner.forEach(([partner, count]) => dueOf.inc({ partner: label(partner) }, count));
    },
    /** Takes back a gauge whose source does not respond: no value is better than an old one or 0. */
    unknown: (gauge: "backlog" | "oldestDue") => {
      const [all, byPartner] = gauge === "backlog" ? [due, dueOf] : [oldest, oldestOf];
      all.remove();
      byPartner.reset();
    },
    /** Why deliveries to the partner pause; undefined when its circuit breaker is closed. */
    paused: (partner: string, cause: OpenCause | undefined) => {
      for (const one of openCauses) {
        const isPaused = one === cause;
        if (pausedBy[one].has(partner) !== isPaused) {
          pausedBy[one][isPaused ? "add" : "delete"](partner);
          pauses[one].inc({ partner: label(partner) }, isPaused ? 1 : -1);
        }
      }
    },
    /** Counts held partners, and partners whose last good version is applied. */
    configured: (partners: readonly Pick<PartnerConfig, "held" | "lastGoodSinceMs">[]) => {
      for (const reason of heldReasons)
        held.set({ reason }, partners.filter((partner) => partner.held === reason).length);
      lastGood.set(partners.filter(({ lastGoodSinceMs }) => lastGoodSinceMs !== undefined).length);
    },
    /** Age of the delivery that has been due for longest, in seconds, of a partner or of all. */
    oldestDue: (partner: string | undefined, seconds: number) => {
      if (partner === undefined) oldest.set(seconds);
      else if (label(partner) !== otherLabel) oldestOf.set({ partner }, seconds);
      else {
        othersDue[seconds > 0 ? "set" : "delete"](partner, seconds);
        oldestOf.set(
          { partner: otherLabel },
          Iterator.from(othersDue.values()).reduce((a, b) => Math.max(a, b), 0),
        );
      }
    },
  };
}

function registerMetrics(registry: Registry) {
  const { counter, gauge, histogram } = instrumentsOf(registry, "heliograph_webhook_");
  return {
    responses: counter("partner_responses_total", "Responses of partners.", ["partner", "class"]),
    ends: counter("partner_deliveries_total", "Deliveries that ended.", ["partner", "state"]),
    durations: histogram(
      "partner_delivery_duration_seconds",
      "Time from the acceptance of an event to its delivery.",
      durationBuckets,
      ["partner"],
    ),
    attempts: histogram("delivery_attempts", "Attempts of a delivery that ended.", attemptsBuckets),
    oldest: gauge("oldest_due_seconds", "Age of the delivery that has been due for longest."),
    oldestOf: gauge(
      "partner_oldest_due_seconds",
      "Age of the delivery that has been due for longest; nothing of a paused or held partner is due.",
      ["partner"],
    ),
    due: gauge("backlog", "Deliveries that are due or in flight."),
    dueOf: gauge(
      "partner_backlog",
      "Deliveries that are due or in flight; of a paused or held partner, all that wait.",
      ["partner"],
    ),
    pauses: {
      failures: gauge(
        "partner_breaker_open",
        "1 while the circuit breaker of the partner is open; for other, the number of such partners.",
        ["partner"],
      ),
      rate_limited: gauge(
        "partner_rate_limited",
        "1 while a Retry-After of the partner pauses its deliveries; for other, the number of such partners.",
        ["partner"],
      ),
    },
    held: gauge(
      "held_partners",
      "Partners whose deliveries are held because a reference is missing or a right was withdrawn.",
      ["reason"],
    ),
    lastGood: gauge(
      "last_good_partners",
      "Partners that use their last good version because a reference cannot be read.",
    ),
  };
}

/** Returns the first `countMax` names unchanged and one label for all others. */
export function boundedLabels(countMax: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.size < countMax) known.add(name);
    return known.has(name) ? name : otherLabel;
  };
}

function classOf(outcome: AttemptOutcome): string {
  return outcome.kind === "response" ? `${Math.floor(outcome.status / 100)}xx` : "none";
}
