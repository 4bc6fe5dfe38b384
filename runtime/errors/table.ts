interface ErrorRow {
  readonly status: number;
  /** `title` of the problem document. Source: RFC 9457 §3.1.3. */
  readonly title: string;
  /** True when the same request can succeed later without a change. */
  readonly retryable: boolean;
}

const rows = {
  // Both APIs
  invalid_request: { status: 400, title: "The request is not valid", retryable: false },
  invalid_json: { status: 400, title: "The body is not valid JSON", retryable: false },
  invalid_utf8: { status: 400, title: "The body is not valid UTF-8", retryable: false },
  unsupported_media_type: { status: 415, title: "The content type is not supported", retryable: false },
  not_acceptable: { status: 406, title: "No format that is accepted is served", retryable: false },
  body_too_large: { status: 413, title: "The body is too large", retryable: false },
  not_found: { status: 404, title: "There is nothing here", retryable: false },
  method_not_allowed: { status: 405, title: "The method is not allowed here", retryable: false },
  token_missing: { status: 401, title: "A bearer token is required", retryable: false },
  token_invalid: { status: 401, title: "The bearer token is not valid", retryable: false },
  proof_invalid: { status: 401, title: "The proof of possession is not valid", retryable: false },
  scope_missing: { status: 403, title: "The token lacks a scope", retryable: false },
  tenant_required: { status: 400, title: "The request names no tenant", retryable: false },
  tenant_forbidden: { status: 403, title: "The tenant is not allowed to this caller", retryable: false },
  request_timeout: { status: 408, title: "The request arrived too slowly", retryable: true },
  uri_too_long: { status: 414, title: "The request target is too long", retryable: false },
  headers_too_large: { status: 431, title: "The request headers are too large", retryable: false },
  too_many_requests: { status: 429, title: "Too many requests at once", retryable: true },
  answer_timeout: { status: 503, title: "The answer took too long", retryable: true },
  internal: { status: 500, title: "Something failed on our side", retryable: true },
  not_ready: { status: 503, title: "The service is not ready", retryable: true },

  // Webhooks
  invalid_envelope: { status: 422, title: "The event envelope is not valid", retryable: false },
  personal_data: { status: 422, title: "The event carries personal data", retryable: false },
  event_id_reused: { status: 409, title: "The event id was used for another event", retryable: false },
  event_not_found: { status: 404, title: "There is no such event", retryable: false },
  partners_required: { status: 403, title: "The token names no partners", retryable: false },
  replay_not_found: { status: 404, title: "There is no such replay", retryable: false },
  partner_not_found: { status: 404, title: "There is no such partner", retryable: false },
  partner_not_active: { status: 409, title: "The partner gets no deliveries now", retryable: false },
  dead_letter_not_found: { status: 404, title: "There is no such dead letter", retryable: false },
  idempotency_key_reused: { status: 422, title: "The idempotency key was used for another request", retryable: false },
  idempotency_key_in_use: {
    status: 409,
    title: "The first request with the idempotency key is running",
    retryable: true,
  },
  preview_not_found: { status: 404, title: "There is no such preview", retryable: false },
  events_unavailable: { status: 503, title: "Events cannot be stored now", retryable: true },

  // Metrics
  unknown_parameter: { status: 400, title: "The parameter is not known", retryable: false },
  unknown_metric: { status: 400, title: "The metric is not in the catalog", retryable: false },
  metric_gone: { status: 410, title: "The metric is past its sunset", retryable: false },
  invalid_time: { status: 400, title: "The time is not valid", retryable: false },
  invalid_window: { status: 400, title: "The window is not valid", retryable: false },
  invalid_step: { status: 400, title: "The step is not valid", retryable: false },
  invalid_aggregation: { status: 400, title: "The aggregation is not valid for the metric", retryable: false },
  invalid_filter: { status: 400, title: "The filter is not valid", retryable: false },
  invalid_group_by: { status: 400, title: "The grouping is not valid", retryable: false },
  forbidden_label: { status: 400, title: "The label is forbidden", retryable: false },
  invalid_expression: { status: 400, title: "The expression is not valid", retryable: false },
  invalid_limit: { status: 400, title: "The limit is not valid", retryable: false },
  invalid_page: { status: 400, title: "The page is not valid", retryable: false },
  invalid_downsample: { status: 400, title: "The downsample is not valid", retryable: false },
  incompatible_buckets: { status: 400, title: "The histograms do not share bounds", retryable: false },
  incompatible_increases: { status: 400, title: "The stores compute increases differently", retryable: false },
  result_too_large: { status: 400, title: "The result is too large", retryable: false },
  role_missing: { status: 403, title: "The caller lacks a role", retryable: false },
  region_forbidden: { status: 403, title: "The region is not allowed to this query", retryable: false },
  environment_forbidden: { status: 403, title: "The environment is not allowed to this caller", retryable: false },
  metric_forbidden: { status: 403, title: "The metric is not allowed to this caller", retryable: false },
  schema_version_gone: { status: 409, title: "The schema version is no longer served", retryable: false },
  snapshot_gone: { status: 409, title: "The snapshot is gone", retryable: false },
  rate_exceeded: { status: 429, title: "Too many requests", retryable: true },
  cost_exceeded: { status: 429, title: "The query costs more than is left", retryable: true },
  concurrency_exceeded: { status: 429, title: "Too many requests are under way", retryable: true },
  store_failed: { status: 502, title: "Stores failed", retryable: true },
  store_timeout: { status: 504, title: "Stores were too late", retryable: true },
} as const satisfies Readonly<Record<string, ErrorRow>>;

/** Machine-readable name of an error of either API. */
export type ErrorCode = keyof typeof rows;

/** Every error of both APIs. `docs/reference/errors.md` holds the same table; a test compares them. */
export const errorTable: Readonly<Record<ErrorCode, ErrorRow>> = rows;
