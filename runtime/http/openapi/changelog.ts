import type { Changelog } from "../../../api/documents.ts";
import type { Static } from "../../../api/schema.ts";

/** Everything that changed on one day. The first entry's day is the version of every schema. */
type ChangelogEntry = Static<typeof Changelog>["versions"][number];

/**
 * The machine-readable changelog. A test holds that the schemas do not change without an entry. Source: seed "Webhook
 * Event Delivery" §9.3, seed "Operational Metrics API" §9.
 */
export const changelog: readonly [ChangelogEntry, ...ChangelogEntry[]] = [
  {
    version: "2026-11-27",
    changes: [
      {
        kind: "deprecated",
        surface: "preview",
        what: "simulated of the events of a preview: always null, because previews no longer simulate deliveries",
      },
    ],
  },
  {
    version: "2026-11-26",
    changes: [
      {
        kind: "added",
        surface: "metrics",
        what: 'selectors of series without a label (psp="") and with it (psp!="", psp=~".+") in Prometheus\' HTTP API',
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "the schema of partials between regions has empty values and empty lists in filters",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "waiting of deliveries: since_at_latest, for what began before times were noted; since is then not null",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "durations such as 1w and 1h30m in last, step, from, to and ts; times rounded in UTC, such as now-1d/d",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "the schema of partials between regions has step_ms, which runtimes send and accept",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "class of a plan is never null: a rejected query has the class of the metrics it names",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "meta.hints about metrics of which no store has a series, and about values that are NaN",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "meta.regions in label values; warnings of look-ups in Prometheus' HTTP API name the missing regions",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "every route below /prometheus/api/v1 charges a request, also those that read no store",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "reason resting of a region whose store was not asked; Retry-After is then when it gets a request again",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "catalog and age_seconds of each store in GET /v1/metrics/health, which probes a store after 10 s",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "history of an event: routed_by, the configuration that routed it to a partner, or to none",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "waiting of deliveries: until; since of paused, held and keyless ones; waiting in lists of events",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "partners: rejected, why a definition is not applied; missing, what a held one lacks; state rejected",
      },
      {
        kind: "changed",
        surface: "webhooks",
        what:
          "history of an event: canonical has the signed text with the URL replaced for tokens that may not see it, " +
          "and canonical_reason says why",
      },
      {
        kind: "changed",
        surface: "webhooks",
        what:
          "GET /webhooks/partners/:namespace/:name: live shows nothing but hidden to a token without some of the " +
          "tenants whose events the partner gets",
      },
      {
        kind: "changed",
        surface: "metrics",
        what:
          "ratios have points while their denominator is counted and their numerator has no series: error ratios " +
          "start at 0, and success ratios are 0 in an outage",
      },
      {
        kind: "changed",
        surface: "metrics",
        what:
          "a store that has a part of a value, such as a numerator, bucket, sum or count, without another required " +
          "part adds nothing to that point, and its region is partial",
      },
      {
        kind: "changed",
        surface: "metrics",
        what:
          "objectives and histogram_fraction leave out a store at points where some of its series lack the bucket of " +
          "the threshold; its region is partial",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "text cells of text/csv that begin with =, +, -, @, tab or CR begin with ' unless csv=raw is sent",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "error_bounds of the lowest bucket have no lower bound, and those of a bucket around zero are its own",
      },
      {
        kind: "changed",
        surface: "metrics",
        what:
          "GET /v1/metrics/catalog and /health, and /slo without objectives, charge one request; GET " +
          "/v1/metrics/quota has a rate of its own",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "schema_version is none, and no longer empty, in a response about no metric",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "X-Data-Freshness is the age of the newest sample in every window, and grows while objectives are cached",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "percentiles of classic histograms do not use a bound at points where some series of a store lack it",
      },
      {
        kind: "added",
        surface: "metrics",
        what:
          "infinite_points: how many points of gauges are +Inf or -Inf, which JSON cannot represent; the Prometheus " +
          "API returns them",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "reasons of a partial region: the metric and the part that a store lacks",
      },
      {
        kind: "added",
        surface: "metrics",
        what:
          "reasons of a region: the metrics of several that a store did not return (late, failed, unsupported), and " +
          "the setting of a store that rounds times (times_rounded)",
      },
      {
        kind: "added",
        surface: "metrics",
        what:
          "status of an objective: late and failed, if too few events were counted while stores are missing; before, " +
          "it was insufficient_data",
      },
      {
        kind: "changed",
        surface: "metrics",
        what:
          "GET /v1/metrics/slo and bulk queries return the data of all stores that respond in time, also if another " +
          "store hangs",
      },
      {
        kind: "changed",
        surface: "metrics",
        what:
          "no cheaper query is suggested when no connection to a store was made: without X-Suggested-Step, " +
          "X-Suggested-Downsample and suggestion",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "warnings of a store in GET /v1/metrics/health: objectives that its series lack a bucket for",
      },
      {
        kind: "changed",
        surface: "metrics",
        what:
          "response headers take less than 4 KB: X-Query-Plan, RateLimit, Link and X-Query-Meta are shortened for " +
          "many metrics, and explain has the points, stores and ranges of each metric",
      },
      {
        kind: "added",
        surface: "metrics",
        what:
          "from, to and ts take Unix seconds, offsets, now and distances such as now-3h; last, the length of a " +
          "window that ends now",
      },
      {
        kind: "added",
        surface: "metrics",
        what:
          "filter_in[label] and filter_in of a bulk: several exact values; hints in meta of a response without " +
          "series",
      },
      {
        kind: "added",
        surface: "metrics",
        what:
          "/prometheus/api/v1/features, vector(NUMBER) and time() as probes, match[] up to 8,192 characters, and " +
          "look-ups of labels without match[], which leave out metrics that may not cross regions with a warning",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "a look-up of labels takes one request token, however many metrics it reads; limit always has a warning",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "live breaker of a partner: rate_limited, while a Retry-After of the partner pauses its deliveries",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "history of an event: warnings of an attempt, such as a fault of a response whose status counts",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "history of an event: waiting, why a delivery waits, with its kind, its reason and since when",
      },
    ],
  },
  {
    version: "2026-11-22",
    changes: [
      {
        kind: "changed",
        surface: "webhooks",
        what: "GET /webhooks/partners/:namespace/:name/stats leaves pings out",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "dead letters: order=desc, lists of all partners without partner, and counts by partner and reason",
      },
      { kind: "added", surface: "access", what: "GET /v1/me: what a token may do, for every valid token" },
      {
        kind: "added",
        surface: "webhooks",
        what:
          "history of an event: accepted_at, the generation of a delivery, the settlement of an attempt, and what " +
          "its recipient verifies",
      },
      {
        kind: "added",
        surface: "preview",
        what: "manifests of POST /v1/preview: YAML documents in place of resources",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "GET /webhooks/replay: the replays and redrives that a token may see, with who asked for what",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "GET /webhooks/partners/:namespace/:name/stats: attempts by step, answers and durations",
      },
      {
        kind: "added",
        surface: "webhooks",
        what:
          "GET /webhooks/events: order=desc with meta.newest and meta.complete, status, reason, and wait for new " +
          "events; status and attempts of each delivery",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "GET /v1/metrics/plan: the plan and the price of a query that is not run, and its expression",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "GET /v1/metrics/quota: the quotas of the caller, without a charge",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "GET /v1/metrics/labels/:label/values: values of a label within the rights of the caller",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "GET /v1/metrics/slo/history: the error budget of an objective over its window",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "query, query_range and look-ups below /prometheus/api/v1, for clients of Prometheus",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "GET /webhooks/partners: the partners that a token may see, with states, subscriptions and keys",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "GET /webhooks/partners/{namespace}/{name}: a partner with its settings and its live state",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "POST /webhooks/partners/{namespace}/{name}/ping: a test event for one partner; code partner_not_active",
      },
      {
        kind: "added",
        surface: "preview",
        what: "POST /v1/preview and GET /v1/preview/:id: the effect of an edit of resources before it is applied",
      },
      {
        kind: "added",
        surface: "preview",
        what: "queries of a preview: recorded queries that an edit refuses, allows, or makes dearer or cheaper",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "GET /v1/status/:tenant: the public objectives of a tenant, as its status page shows them; slo: title",
      },
      {
        kind: "added",
        surface: "metrics",
        what: "questions of peers: a list of values in place of one value of a filter",
      },
      {
        kind: "changed",
        surface: "webhooks",
        what: "an event id is unique in the installation: 409 event_id_reused for one that another tenant has",
      },
      {
        kind: "changed",
        surface: "webhooks",
        what:
          "history holds the bytes of an event as they were sent; numbers beyond every double and halves of " +
          "surrogate pairs are refused",
      },
      { kind: "added", surface: "webhooks", what: "GET /webhooks/event-ids/:id, for administrators" },
      {
        kind: "added",
        surface: "metrics",
        what:
          "hit_ratio of each cache in the health view; the state and fallback of a cache are words of a " +
          "closed list",
      },
      { kind: "added", surface: "webhooks", what: "detail of a replay: why it failed or does not go on" },
      {
        kind: "added",
        surface: "webhooks",
        what: "states held and not_routed of a delivery, and routed_at of an event that not every partner gets",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "a claim of partners narrows every webhook route; partners_required where the installation asks for it",
      },
      {
        kind: "added",
        surface: "webhooks",
        what: "with the scope admin:debug, the pod of an attempt and its failure in full",
      },
      { kind: "changed", surface: "webhooks", what: "next_attempt_at is never in the past" },
      {
        kind: "changed",
        surface: "webhooks",
        what: "the detail of a failed attempt is a sentence and a code, without hosts and addresses",
      },
      {
        kind: "changed",
        surface: "webhooks",
        what: "times, counts and texts of lists are read as strictly as those of queries for metrics",
      },
      { kind: "added", surface: "metrics", what: "semantics of each aggregation in a catalog entry" },
      { kind: "added", surface: "metrics", what: "exemplars_hidden: how many exemplars carry no trace id" },
      {
        kind: "changed",
        surface: "webhooks",
        what: "a replay that names an unknown partner is refused with 404, as a list is",
      },
      {
        kind: "added",
        surface: "metrics",
        what:
          "errors beside data for a metric of several whose stores cannot be merged; X-Data-Freshness is absent " +
          "where no sample was seen; error of a read that a store refused, with explain",
      },
      {
        kind: "changed",
        surface: "metrics",
        what:
          "correlation_id in the body of a query, instant, catalog or slo is a digest of its content; the header " +
          "X-Correlation-Id names the request",
      },
      {
        kind: "changed",
        surface: "webhooks",
        what:
          "schemas say what requests are refused: attempt in an event, unknown members, forms of ids, names, types " +
          "and times",
      },
      {
        kind: "changed",
        surface: "metrics",
        what: "schemas say that labels to group by differ, and that a filter of a peer's question is not empty",
      },
      {
        kind: "changed",
        surface: "webhooks",
        what:
          "from and to of a replay are times with hours, as in every query; an after_id or before_id of no event " +
          "is 404",
      },
    ],
  },
  {
    version: "2026-11-21",
    changes: [
      {
        kind: "added",
        surface: "metrics",
        what: "query, instant, bulk-query, catalog, health and slo below /v1/metrics",
      },
      { kind: "added", surface: "metrics", what: "POST /v1/metrics/partials, for runtimes of other regions" },
      {
        kind: "added",
        surface: "webhooks",
        what: "POST /events, and below /webhooks: events, replay, dead-letters and ack",
      },
      {
        kind: "added",
        surface: "schemas",
        what: "JSON Schemas, an OpenAPI document and this changelog below /v1/schemas",
      },
    ],
  },
];

/** Version of what is served: the day of its last change. */
export const interfaceVersion = changelog[0].version;
