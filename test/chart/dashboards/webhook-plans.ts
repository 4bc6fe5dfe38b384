import type { DashboardPlan } from "./grafana.ts";
import { quantiles, rates, share } from "./queries.ts";

/** The way of events to partners. */
export const delivery: DashboardPlan = {
  name: "delivery",
  title: "delivery",
  panels: [
    {
      title: "Ready pods",
      description: "Pods of the runtime whose /readyz is green.",
      unit: "short",
      queries: [["sum(heliograph_pod_ready{SELECTED})", "ready"]],
    },
    {
      title: "Events accepted",
      description: "Requests to store an event, by outcome.",
      unit: "reqps",
      queries: [rates("outcome", "heliograph_webhook_ingest_total")],
    },
    {
      title: "Attempts",
      description: "By settlement.",
      unit: "reqps",
      queries: [rates("outcome", "heliograph_webhook_attempts_total")],
    },
    {
      title: "Time of an attempt",
      description: "One request to a partner.",
      unit: "s",
      queries: quantiles("heliograph_webhook_attempt_duration_seconds"),
    },
    {
      title: "Accepted to delivered",
      description: "The objective is 3 s for 95 %.",
      unit: "s",
      queries: quantiles("heliograph_webhook_delivery_duration_seconds"),
    },
    {
      title: "Dead letters",
      description: "Deliveries that ended without success in five minutes, by state and reason.",
      unit: "short",
      queries: [
        [
          "sum by (state, reason) (increase(heliograph_webhook_dead_letters_total{SELECTED}[5m]))",
          "{{state}} {{reason}}",
        ],
      ],
    },
    {
      title: "Backlog",
      description: "Deliveries that are due or in flight, over all pods.",
      unit: "short",
      queries: [
        ["sum(heliograph_webhook_backlog{SELECTED})", "due"],
        ["sum(heliograph_webhook_in_flight{SELECTED})", "in flight"],
      ],
    },
    {
      title: "Oldest delivery that is due",
      description: "Over all partners; it includes those that are paused or held.",
      unit: "s",
      queries: [["max(heliograph_webhook_oldest_due_seconds{SELECTED})", "oldest"]],
    },
    {
      title: "Fill of streams",
      description: "Share of the limit. Attempts drop their oldest records; routed events are deleted above 80 %.",
      unit: "percentunit",
      queries: [share("stream", "heliograph_webhook_stream_bytes", "heliograph_webhook_stream_bytes_max")],
    },
    {
      title: "Partners that get nothing",
      description: "Held by reason, and stopped because the dead letter stream is full.",
      unit: "short",
      queries: [
        ["max by (reason) (heliograph_webhook_held_partners{SELECTED})", "held {{reason}}"],
        ["max(heliograph_webhook_blocked_partners{SELECTED})", "blocked"],
      ],
    },
  ],
};

const ofPartner = ', partner="$partner"';
/** One partner. */
export const partner: DashboardPlan = {
  name: "partner",
  title: "partner",
  variable: { name: "partner", label: "Partner", metric: "heliograph_webhook_partner_responses_total" },
  panels: [
    {
      title: "Responses",
      description: "Responses of the partner by class; none without a response.",
      unit: "reqps",
      queries: [rates("class", "heliograph_webhook_partner_responses_total", ofPartner)],
    },
    {
      title: "Ends of deliveries",
      description: "By state.",
      unit: "reqps",
      queries: [rates("state", "heliograph_webhook_partner_deliveries_total", ofPartner)],
    },
    {
      title: "Accepted to delivered",
      description: "The objective is 3 s for 95 %.",
      unit: "s",
      queries: quantiles("heliograph_webhook_partner_delivery_duration_seconds", ofPartner),
    },
    {
      title: "Backlog",
      description: "Deliveries that are due or in flight.",
      unit: "short",
      queries: [[`sum(heliograph_webhook_partner_backlog{SELECTED${ofPartner}})`, "due"]],
    },
    {
      title: "Oldest delivery that is due",
      description: "Nothing of a paused or held partner is due.",
      unit: "s",
      queries: [[`max(heliograph_webhook_partner_oldest_due_seconds{SELECTED${ofPartner}})`, "oldest"]],
    },
    {
      title: "Circuit breaker",
      description: "1 while it is open.",
      unit: "bool",
      queries: [[`max(heliograph_webhook_partner_breaker_open{SELECTED${ofPartner}})`, "open"]],
    },
  ],
};
