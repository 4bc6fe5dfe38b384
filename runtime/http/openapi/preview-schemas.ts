import { queryEffects } from "../../metrics/query-effect.ts";
import { resourcesMax } from "../../preview/preview-request.ts";
import { manifestsLengthMax } from "../../preview/read-manifests.ts";
import { askedTime } from "./common-schemas.ts";
import {
  closedObject,
  count,
  described,
  flag,
  list,
  object,
  ref,
  text,
  words,
  type JsonSchema,
  type SchemaSet,
} from "./json-schema.ts";

const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: "null" }] });
const objects = list(text({ description: "Kind/namespace/name" }));
const change = object({ before: count, after: count });
const figures = ref("PreviewedFigures");

/** Requests and responses of previews. */
export const previewSchemas: SchemaSet = {
  PreviewRequest: closedObject(
    {},
    {
      resources: described(list({ type: "object" }, { maxItems: resourcesMax }), "Either these or manifests"),
      manifests: text({ maxLength: manifestsLengthMax, description: "The same as YAML documents" }),
      prune: {
        ...flag,
        description: "True when objects that are not in resources would be removed. Default: they stay",
      },
      from: text({ ...askedTime, description: "Start of the events. Without it only resources are compared" }),
      to: text({ ...askedTime, description: "End of the events. Default: now" }),
    },
  ),
  Preview: object({
    preview_id: text(),
    status: words(["queued", "running", "completed", "failed"]),
    created_at: ref("Time"),
    base: text({ description: "Digest of the configuration that the edit is compared with" }),
    resources: ref("PreviewedResources"),
    events: nullable(ref("PreviewedEvents")),
    queries: nullable(ref("PreviewedQueries")),
    detail: nullable(text({ description: "Why it failed" })),
  }),
  PreviewedResources: object({
    added: objects,
    removed: objects,
    changed: list(
      object({
        object: text(),
        fields: list(
          object(
            { field: text() },
            {
              before: text({ description: "JSON. Absent if the field was not set, or if hidden lists it" }),
              after: text({ description: "JSON. Absent if the field is not set any more, or if hidden lists it" }),
              hidden: described(list(words(["before", "after"])), "Values that you may not see"),
            },
          ),
        ),
      }),
    ),
    unchanged: count,
    refused: list(object({ object: text(), reason: text(), message: text() })),
    unnamed: list(text({ description: "An object that resources do not name" })),
  }),
  PreviewedAttempts: object({
    oldest_attempt: nullable(ref("Time")),
    events: count,
    skipped: count,
    partners: list(
      object({ partner: text(), exact: count, moved: count, gone: count, would_retry: count, would_end: count }),
    ),
  }),
  PreviewedQueries: object({
    since: ref("Time"),
    pods: object({ live: count, answered: count }),
    seen: nullable(count),
    judged: count,
    refused: count,
    allowed: count,
    dearer: count,
    cheaper: count,
    shapes: list(ref("PreviewedShape")),
  }),
  PreviewedShape: object({
    effect: words(queryEffects),
    count,
    client: text(),
    metrics: list(text()),
    aggregation: nullable(text()),
    group_by: list(text()),
    filters: list(text({ description: "Name of a filter" })),
    window_seconds: nullable(count),
    step: nullable(text()),
    before: ref("JudgedQuery"),
    after: ref("JudgedQuery"),
  }),
  JudgedQuery: object({
    class: nullable(text({ description: "Class of the caller; null when the query is refused" })),
    cost: nullable({ ...count, description: "Expected cost units; null when the query is refused before its plan" }),
    code: nullable(text({ description: "Error code of the refusal; null when the query is allowed" })),
  }),
  PreviewedSimulation: object({
    complete: flag,
    left_out: { ...count, description: "Deliveries without their first attempts, or beyond a limit" },
    not_simulated: list(text({ description: "A partner whose edit changes more than retries and limits" })),
    partners: list(
      object({
        partner: text(),
        deliveries: count,
        estimated: { ...count, description: "Attempts with the outcome of the nearest recorded one" },
        farthest_ms: { ...count, description: "Longest time between such an attempt and the recorded one" },
        would_live: { ...count, description: "Dead letters that would be delivered" },
        would_die: { ...count, description: "Other deliveries that would become dead letters" },
        recorded: figures,
        simulated: figures,
      }),
    ),
  }),
  PreviewedFigures: object({
    delivered: count,
    dead_letters: count,
    pending: count,
    backlog: { ...count, description: "The most deliveries that were pending at once" },
    in_flight: { ...count, description: "The most attempts that were under way at once" },
    p95_ms: nullable({ type: "number", description: "95th percentile from the event to its delivery" }),
  }),
  PreviewedEvents: object({
    from: ref("Time"),
    to: ref("Time"),
    oldest_event: nullable(ref("Time")),
    complete: flag,
    attempts: ref("PreviewedAttempts"),
    simulated: nullable(ref("PreviewedSimulation")),
    read: count,
    deliveries: change,
    unrouted: change,
    partners: list(
      object({
        partner: text(),
        before: count,
        after: count,
        gained: count,
        lost: count,
        gained_ids: list(text()),
        lost_ids: list(text()),
      }),
    ),
  }),
};
