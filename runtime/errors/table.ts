interface ErrorRow {
  readonly status: number;
  /** `title` of the problem document. Source: RFC 9457 §3.1.3. */
  readonly title: string;
  /** True when the same request can succeed later without a change. */
  readonly retryable: boolean;
}

const rows = {
  // Both APIs
  invalid_request: { status: 400, title: "Invalid request", retryable: false },
  invalid_json: { status: 400, title: "Invalid JSON", retryable: false },
  invalid_utf8: { status: 400, title: "Invalid UTF-8", retryable: false },
  unsupported_media_type: { status: 415, title: "Unsupported media type", retryable: false },
  not_acceptable: { status: 406, title: "Not acceptable", retryable: false },
  body_too_large: { status: 413, title: "Request body too large", retryable: false },
  not_found: { status: 404, title: "Not found", retryable: false },
  method_not_allowed: { status: 405, title: "Method not allowed", retryable: false },
  token_missing: { status: 401, title: "Missing bearer token", retryable: false },
  token_invalid: { status: 401, title: "Invalid bearer token", retryable: false },
  proof_invalid: { status: 401, title: "Invalid proof of possession", retryable: false },
  scope_missing: { status: 403, title: "Insufficient scope", retryable: false },
  tenant_required: { status: 400, title: "Tenant required", retryable: false },
  tenant_forbidden: { status: 403, title: "Tenant not allowed", retryable: false },
  request_timeout: { status: 408, title: "Request timeout", retryable: true },
  uri_too_long: { status: 414, title: "URI too long", retryable: false },
  headers_too_large: { status: 431, title: "Request header fields too large", retryable: false },
  too_many_requests: { status: 429, title: "Too many concurrent requests", retryable: true },
  answer_timeout: { status: 503, title: "Response timeout", retryable: true },
  internal: { status: 500, title: "Internal server error", retryable: true },
  not_ready: { status: 503, title: "Service not ready", retryable: true },

  // Webhooks
  invalid_envelope: { status: 422, title: "Invalid event envelope", retryable: false },
  personal_data: { status: 422, title: "Event contains personal data", retryable: false },
  undeclared_type: { status: 422, title: "Undeclared event type", retryable: false },
  version_retired: { status: 422, title: "Event version retired", retryable: false },
  invalid_data: { status: 422, title: "Invalid event data", retryable: false },
  event_id_reused: { status: 409, title: "Event id already in use", retryable: false },
  event_not_found: { status: 404, title: "Event not found", retryable: false },
  event_type_not_found: { status: 404, title: "Event type not found", retryable: false },
  partners_required: { status: 403, title: "Partners claim required", retryable: false },
  replay_not_found: { status: 404, title: "Replay not found", retryable: false },
  partner_not_found: { status: 404, title: "Partner not found", retryable: false },
  partner_not_active: { status: 409, title: "Deliveries to this partner are paused", retryable: false },
  dead_letter_not_found: { status: 404, title: "Dead letter not found", retryable: false },
  too_many_dead_letters: { status: 422, title: "Too many dead letters", retryable: false },
  idempotency_key_reused: { status: 422, title: "Idempotency key already used", retryable: false },
  idempotency_key_in_use: {
    status: 409,
    title: "Idempotency key in use",
    retryable: true,
  },
  preview_not_found: { status: 404, title: "Preview not found", retryable: false },
  events_unavailable: { status: 503, title: "Event store unavailable", retryable: true },

  // Metrics
  unknown_parameter: { status: 400, title: "Unknown parameter", retryable: false },
  unknown_metric: { status: 400, title: "Unknown metric", retryable: false },
  metric_gone: { status: 410, title: "Metric no longer available", retryable: false },
  invalid_time: { status: 400, title: "Invalid time", retryable: false },
  invalid_window: { status: 400, title: "Invalid window", retryable: false },
  invalid_step: { status: 400, title: "Invalid step", retryable: false },
  invalid_aggregation: { status: 400, title: "Invalid aggregation", retryable: false },
  invalid_filter: { status: 400, title: "Invalid filter", retryable: false },
  invalid_group_by: { status: 400, title: "Invalid grouping", retryable: false },
  forbidden_label: { status: 400, title: "Forbidden label", retryable: false },
  invalid_expression: { status: 400, title: "Invalid expression", retryable: false },
  invalid_limit: { status: 400, title: "Invalid limit", retryable: false },
  invalid_page: { status: 400, title: "Invalid page", retryable: false },
  invalid_downsample: { status: 400, title: "Invalid downsample", retryable: false },
  invalid_top: { status: 400, title: "Invalid ranking", retryable: false },
  invalid_compare: { status: 400, title: "Invalid comparison", retryable: false },
  too_many_candidates: { status: 400, title: "Too many series to rank", retryable: false },
  incompatible_buckets: { status: 400, title: "Incompatible histogram buckets", retryable: false },
  incompatible_increases: { status: 400, title: "Incompatible increases", retryable: false },
  result_too_large: { status: 400, title: "Result too large", retryable: false },
  role_missing: { status: 403, title: "Missing role", retryable: false },
  region_forbidden: { status: 403, title: "Region not allowed", retryable: false },
  environment_forbidden: { status: 403, title: "Environment not allowed", retryable: false },
  metric_forbidden: { status: 403, title: "Metric not allowed", retryable: false },
  schema_version_gone: { status: 409, title: "Schema version no longer served", retryable: false },
  snapshot_gone: { status: 409, title: "Snapshot expired", retryable: false },
  rate_exceeded: { status: 429, title: "Rate limit exceeded", retryable: true },
  cost_exceeded: { status: 429, title: "Cost limit exceeded", retryable: true },
  concurrency_exceeded: { status: 429, title: "Concurrency limit exceeded", retryable: true },
  store_failed: { status: 502, title: "Store failure", retryable: true },
  usage_unavailable: { status: 503, title: "Usage unavailable", retryable: true },
  store_timeout: { status: 504, title: "Store timeout", retryable: true },
} as const satisfies Readonly<Record<string, ErrorRow>>;

/** Machine-readable name of an error of either API. */
export type ErrorCode = keyof typeof rows;

/** Every error of both APIs. `docs/reference/errors.md` holds the same table; a test compares them. */
export const errorTable: Readonly<Record<ErrorCode, ErrorRow>> = rows;
