import { queryChanges } from "./catalog.ts";
import { Time, writtenTime } from "./documents.ts";
import { RejectedEvents } from "./events.ts";
import { changedPayload } from "./partner-health.ts";
import {
  anyObject,
  closedObject,
  count,
  deprecated,
  described,
  flag,
  list,
  nullable,
  number,
  object,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

/** Most resources of one preview. */
export const resourcesMax = 2_048;
/** Longest text of manifests, in characters. */
export const manifestsLengthMax = 1_048_576;
export const queryEffects = ["refused", "allowed", "dearer", "cheaper"] as const;
const change = object({ before: count("Without the edit"), after: count("With the edit") });

export const PreviewRequest = closedObject(
  {},
  {
    resources: list(anyObject(), "Either resources or manifests is required", { maxItems: resourcesMax }),
    manifests: text("Resources as YAML documents", { maxLength: manifestsLengthMax }),
    prune: flag("True to treat objects that are not in resources as deleted. Default: they stay"),
    from: text("Start of the events. If absent, only resources are compared", writtenTime),
    to: text("End of the events. Default: now", writtenTime),
  },
);
export type PreviewRequest = Static<typeof PreviewRequest>;
export type Preview = Static<typeof Preview>;

export const PreviewedResources = object(
  {
    added: list(text(), "Kind/namespace/name"),
    removed: list(text(), "Kind/namespace/name"),
    changed: list(
      object({
        object: text("Kind/namespace/name"),
        fields: list(
          object(
            { field: text("Path of the field") },
            {
              before: text("Previous value in JSON. Absent if the field was not set or is listed in hidden"),
              after: text("New value in JSON. Absent if the field is no longer set or is listed in hidden"),
              hidden: list(words(["before", "after"]), "Values that are hidden from this caller"),
            },
          ),
          "Changed fields",
        ),
      }),
      "Objects changed by the edit",
    ),
    unchanged: count("Number of unchanged objects"),
    refused: list(
      object({
        object: text("Kind/namespace/name"),
        reason: text("Reason of the condition `Accepted`"),
        message: text("What is wrong with the object"),
      }),
      "Objects that would be rejected",
    ),
    unnamed: list(text(), "An object that is not in resources"),
  },
  {
    payloads: list(changedPayload, "Partners that get other sensitive fields; those that newly get some come first"),
  },
);
export type PreviewedResources = Static<typeof PreviewedResources>;

export const PreviewedAttempts = object({
  oldest_attempt: nullable(ref(Time), "Time of the oldest recorded attempt; null without any"),
  events: count("Events whose attempts were read"),
  skipped: count("Additional events with an affected partner, beyond the limit of a preview"),
  partners: list(
    object({
      partner: text("Partner, as `namespace/name`"),
      exact: count("Attempts that would be made at the same time"),
      moved: count("Attempts at a time that the edit changes; their result is unknown"),
      gone: count("Attempts for events that the partner would no longer receive"),
      would_retry: count("Deliveries that ended and would be retried"),
      would_end: count("Deliveries that were retried and would end"),
    }),
    "Partners whose attempts may change",
  ),
});
export type PreviewedAttempts = Static<typeof PreviewedAttempts>;

export const JudgedQuery = object({
  class: nullable(text(), "Class of the caller; null when the query is rejected"),
  cost: nullable(count(), "Expected cost units; null when the query is rejected before its plan"),
  code: nullable(text(), "Error code of the rejection; null when the query is allowed"),
});
export type JudgedQuery = Static<typeof JudgedQuery>;

export const PreviewedShape = object({
  effect: words(queryEffects, "Effect of the edit"),
  count: count("Number of queries"),
  client: text("Client key of their tokens"),
  metrics: list(text(), "Metric ids"),
  aggregation: nullable(text(), "Aggregation; null for the default of each metric"),
  group_by: list(text(), "Labels that they group by"),
  filters: list(text("Name of a filter"), "Names of their filters"),
  window_seconds: nullable(count(), "Length of their window in seconds; null for the default or one point"),
  step: nullable(text(), "Their step; null if it follows from the window"),
  before: ref(JudgedQuery, "Without the edit"),
  after: ref(JudgedQuery, "With the edit"),
});
export type PreviewedShape = Static<typeof PreviewedShape>;

const judgedQueries = {
  since: ref(Time, "Time since which all counted pods have a query log"),
  pods: described(
    object({ live: count("Running pods"), answered: count("Pods whose query log was read") }),
    "Pods that keep the query log",
  ),
  seen: nullable(count(), "Distinct queries since then; null for tokens limited to certain tenants or metrics"),
  judged: count("Queries that were evaluated, within the permissions of the token"),
  refused: count("Queries that would newly be rejected"),
  allowed: count("Queries that would newly be allowed"),
  dearer: count("Queries that would cost more"),
  cheaper: count("Queries that would cost less"),
  shapes: list(ref(PreviewedShape), "Affected queries by shape, most frequent first"),
};
export const PreviewedQueries = object(judgedQueries, queryChanges);
export type PreviewedQueries = Static<typeof PreviewedQueries>;

/** Days for which the readers of what an edit removes are shown. */
export const readerDays = 30;
/** What of a metric an edit can remove. */
export const previewedUses = ["metric", "aggregation", "label", "region"] as const;

export const PreviewedReaders = object(
  {
    from: ref(Time, `Start of the window, ${readerDays} days before the request`),
    complete: flag("False if some usage of the window may be missing"),
    clients_shown: words(["all", "own"], "`own`: only the client of the token, which lacks the scope `metrics:usage`"),
    omitted: count("Number of further removals"),
    removed: list(
      object({
        metric: text("Metric id"),
        what: words(previewedUses, "What is removed: the metric, or a part of it"),
        name: nullable(text(), "Aggregation, label or region; null for the metric"),
        clients: nullable(
          list(object({ client: text("Client key of its tokens"), requests: count("Requests that used it") })),
          "Clients that used it, most requests first; null if usage cannot be read",
        ),
        more_clients: count("Number of further clients"),
        unknown_requests: count("Requests for the metric in hours for which its parts were not counted"),
      }),
      "What the edit removes from metrics",
    ),
  },
  { unavailable: text("Why usage cannot be read") },
);
export type PreviewedReaders = Static<typeof PreviewedReaders>;

/** @deprecated no response has it; the schema stays for clients that are generated from it */
export const PreviewedFigures = object({
  delivered: count("Deliveries that succeeded"),
  dead_letters: count("Deliveries that became dead letters"),
  pending: count("Deliveries that had not ended"),
  backlog: count("Maximum number of pending deliveries"),
  in_flight: count("Maximum number of concurrent attempts"),
  p95_ms: nullable(number(), "95th percentile of the time from the event to its delivery"),
});

/** @deprecated like {@link PreviewedFigures} */
export const PreviewedSimulation = object({
  complete: flag("True if every delivery of the time range is simulated"),
  left_out: count("Deliveries without their first attempts, or beyond a limit"),
  not_simulated: list(
    text("A partner whose edit changes more than retries and limits"),
    "Partners whose edit changes more than retries and limits",
  ),
  partners: list(
    object({
      partner: text("Partner, as `namespace/name`"),
      deliveries: count("Simulated deliveries"),
      estimated: count("Attempts with the outcome of the nearest recorded one"),
      farthest_ms: count("Longest time between such an attempt and the recorded one"),
      would_live: count("Dead letters that would be delivered"),
      would_die: count("Other deliveries that would become dead letters"),
      recorded: ref(PreviewedFigures, "Figures of the recorded attempts"),
      simulated: ref(PreviewedFigures, "Figures of the simulation"),
    }),
    "Partners with simulated deliveries",
  ),
});

export const PreviewedEvents = object({
  from: ref(Time, "Start of the time range"),
  to: ref(Time, "End of the time range"),
  oldest_event: nullable(
    ref(Time),
    "Time of the oldest stored event, before which nothing was compared; null if there is none",
  ),
  complete: flag("False if the limit of events was reached before `to`"),
  attempts: ref(PreviewedAttempts, "Effect on recorded attempts"),
  simulated: deprecated(
    nullable(ref(PreviewedSimulation), "Deprecated: always null, because previews no longer simulate"),
  ),
  read: count("Number of events that were read"),
  rejected: ref(RejectedEvents, "Effect on what ingest rejects, if the events were sent now"),
  deliveries: described(change, "Number of deliveries"),
  unrouted: described(change, "Number of events without a partner"),
  partners: list(
    object({
      partner: text("Partner, as `namespace/name`"),
      before: count("Events without the edit"),
      after: count("Events with the edit"),
      gained: count("Events that only the edit delivers"),
      lost: count("Events that the edit no longer delivers"),
      rejected: count("Events without the edit that only the edit would reject at ingest"),
      changed: count("Events that are delivered with another payload"),
      gained_ids: list(text(), "Ids of some of the gained events"),
      lost_ids: list(text(), "Ids of some of the lost events"),
    }),
    "Partners whose events change",
  ),
});
export type PreviewedEvents = Static<typeof PreviewedEvents>;

export const Preview = object(
  {
    preview_id: text("Id of the preview"),
    status: words(["queued", "running", "completed", "failed"], "Progress of the preview"),
    created_at: ref(Time, "Time of the request"),
    base: text("Digest of the configuration that the edit is compared with"),
    resources: ref(PreviewedResources, "Changes of the configuration"),
    events: nullable(ref(PreviewedEvents), "Effect on recorded events; null without a time range"),
    queries: nullable(ref(PreviewedQueries), "Effect on recorded queries; null for tokens limited to certain partners"),
    detail: nullable(text(), "Why it failed"),
  },
  {
    readers: ref(
      PreviewedReaders,
      "Clients that used what the edit removes from metrics; absent for tokens limited to certain partners",
    ),
  },
);
