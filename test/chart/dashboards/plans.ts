import type { DashboardPlan, PanelQuery } from "./grafana.ts";
import { largest, quantiles, rate, rates, share, within } from "./queries.ts";
import { delivery, partner } from "./webhook-plans.ts";

const operator: DashboardPlan = {
  name: "operator",
  title: "operator",
  panels: [
    {
      title: "Leaders",
      description: "Pods of the operator that lead; one, or none for some seconds.",
      unit: "short",
      queries: [["sum(leader_election_master_status{SELECTED})", "leaders"]],
    },
    {
      title: "Edit to every pod",
      description: "Time from the publication of a resource until all ready pods applied it.",
      unit: "s",
      queries: quantiles("heliograph_programmed_seconds"),
    },
    {
      title: "Conditions",
      description: "Resources by the status of each condition.",
      unit: "short",
      queries: [["max by (kind, type, status) (heliograph_resources{SELECTED})", "{{kind}} {{type}}={{status}}"]],
    },
    {
      title: "Reconciles",
      description: "By controller and outcome.",
      unit: "ops",
      queries: [rates("controller, result", "controller_runtime_reconcile_total")],
    },
    {
      title: "Runtime pods",
      description: "Ready pods of the runtime, by whether they respond to the operator.",
      unit: "short",
      queries: [largest("answers", "heliograph_runtime_pods")],
    },
    {
      title: "Silence of watches",
      description: "Time since the last data from the API server; a healthy watch gets a bookmark each minute.",
      unit: "s",
      queries: [largest("informer", "heliograph_informer_last_event_age_seconds")],
    },
    {
      title: "Size of shards",
      description: "Gzipped; a Secret has at most 1 MiB.",
      unit: "bytes",
      queries: [largest("shard", "heliograph_shard_bytes")],
    },
    {
      title: "Requests to the API server",
      description: "By status; <error> without a response.",
      unit: "reqps",
      queries: [rates("code", "rest_client_requests_total")],
    },
  ],
};

const points = "heliograph_metrics_cache_points_total";
const queries = ', route=~"/v1/metrics/.*"';
const api: DashboardPlan = {
  name: "api",
  title: "metrics API",
  panels: [
    {
      title: "Requests",
      description: "By route and status.",
      unit: "reqps",
      queries: [rates("route, status", "heliograph_http_requests_total", queries)],
    },
    {
      title: "Duration",
      description: "From a request to the end of its response. The objectives are 300 ms cached and 1.5 s cold.",
      unit: "s",
      queries: quantiles("heliograph_http_request_duration_seconds", queries),
    },
    {
      title: "Outcomes",
      description: "Queries by outcome; partial responses lack a store.",
      unit: "reqps",
      queries: [rates("outcome", "heliograph_metrics_request_duration_seconds_count")],
    },
    {
      title: "Reads of stores",
      description: "By store and outcome.",
      unit: "reqps",
      queries: [rates("store, outcome", "heliograph_store_reads_total")],
    },
    {
      title: "Cache hits",
      description: "Share of requested points that a cache had.",
      unit: "percentunit",
      queries: [[`sum(${rate(points, ', result="hit"')}) / sum(${rate(points)})`, "hits"]],
    },
    {
      title: "Cost",
      description: "Estimated cost units of admitted queries, by class.",
      unit: "short",
      queries: [rates("class", "heliograph_metrics_cost_units_total")],
    },
    {
      title: "Metrics asked for most",
      description: "Ten of the highest rates.",
      unit: "reqps",
      queries: [[`topk(10, sum by (metric) (${rate("heliograph_metrics_queried_total")}))`, "{{metric}}"]],
    },
    {
      title: "Lag of the event loop",
      description: "p99 of the pod's slowest process.",
      unit: "s",
      queries: [largest("pod", "nodejs_eventloop_lag_p99_seconds")],
    },
  ],
};

const burnOf = (span: string): PanelQuery => [
  `max by (slo) (heliograph:slo_burn:rate${span}{SELECTED})`,
  `{{slo}} ${span}`,
];
const slo: DashboardPlan = {
  name: "slo",
  title: "objectives",
  panels: [
    {
      title: "Fast burn",
      description: "Bad events by the permitted share of them. The alert needs 14.4 in both windows.",
      unit: "short",
      queries: [burnOf("1h"), burnOf("5m")],
    },
    {
      title: "Slow burn",
      description: "Bad events by the permitted share of them. The alert needs 6 in both windows.",
      unit: "short",
      queries: [burnOf("6h"), burnOf("30m")],
    },
    {
      title: "Delivered within 3 s of acceptance",
      description: "The objective is 95 %.",
      unit: "percentunit",
      // Prometheus 3 writes the bound as 3.0.
      queries: [within("heliograph_webhook_delivery_duration_seconds", String.raw`3(\\.0)?`)],
    },
    {
      title: "Answered within 1.5 s",
      description: "Requests to the metrics API. The objective is 95 %.",
      unit: "percentunit",
      queries: [within("heliograph_http_request_duration_seconds", String.raw`1\\.5`, queries)],
    },
    {
      title: "First ends of keys and certificates",
      description: "The ten that end first.",
      unit: "dateTimeFromNow",
      queries: [
        [
          "bottomk(10, min by (kind, partner, key) (heliograph_expiry_timestamp_seconds{SELECTED})) * 1000",
          "{{kind}} {{partner}} {{key}}",
        ],
      ],
    },
    {
      title: "Alerts",
      description: "Alerts that fire.",
      unit: "short",
      queries: [
        [
          'sum by (alertname, severity) (ALERTS{namespace="$namespace", release="$release", alertstate="firing"})',
          "{{severity}} {{alertname}}",
        ],
      ],
    },
  ],
};

const nats: DashboardPlan = {
  name: "nats",
  title: "bundled NATS",
  panels: [
    {
      title: "Servers",
      description: "1 while nats-server responds to its monitor.",
      unit: "bool",
      queries: [largest("pod", "heliograph_nats_up")],
    },
    {
      title: "JetStream's files",
      description: "Share of nats.maxFileStore.",
      unit: "percentunit",
      queries: [
        share("pod", "heliograph_nats_jetstream_storage_bytes", "heliograph_nats_jetstream_storage_limit_bytes"),
      ],
    },
    {
      title: "Free space of the volume",
      description: "A stream whose write fails refuses every further one until the server restarts.",
      unit: "percentunit",
      queries: [share("pod", "heliograph_nats_volume_available_bytes", "heliograph_nats_volume_bytes")],
    },
    {
      title: "Memory",
      description: "Resident memory of nats-server.",
      unit: "bytes",
      queries: [largest("pod", "heliograph_nats_memory_bytes")],
    },
    {
      title: "Streams",
      description: "Bytes of each stream.",
      unit: "bytes",
      queries: [largest("stream", "heliograph_nats_stream_bytes")],
    },
    {
      title: "Messages",
      description: "From and to clients and servers.",
      unit: "ops",
      queries: [rates("direction", "heliograph_nats_messages_total")],
    },
    {
      title: "API of JetStream",
      description: "Requests, and those that were refused.",
      unit: "reqps",
      queries: [
        [`sum(${rate("heliograph_nats_jetstream_api_requests_total")})`, "requests"],
        [`sum(${rate("heliograph_nats_jetstream_api_errors_total")})`, "refused"],
      ],
    },
    {
      title: "Certificates",
      description: "End of the loaded certificate by listener.",
      unit: "dateTimeFromNow",
      queries: [["min by (listener) (heliograph_nats_certificate_not_after_seconds{SELECTED}) * 1000", "{{listener}}"]],
    },
  ],
};

/** Every dashboard of the chart. */
export const dashboardPlans: readonly DashboardPlan[] = [operator, delivery, partner, api, slo, nats];
