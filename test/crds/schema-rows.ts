import { ratio, slo } from "./catalog-changes.ts";
import { rowsOf, type SchemaRow } from "./rows.ts";

const labelName = String.raw`^_?[^_\x00-\x1F\x7F][^\x00-\x1F\x7F]*$`;

const manyMetrics = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, place) => ({
    id: `metric_${place}`,
    category: "infrastructure",
    unit: "1",
    description: "One of many.",
    source: { gauge: { name: "lag" }, intervalSeconds: 15 },
    aggregations: ["avg"],
    defaultAggregation: "avg",
  }));

const manyStores = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, place) => ({
    name: `store-${place}`,
    region: "eu",
    prometheus: { url: "http://eu.example" },
  }));

/** Objects that break the schema in one field each. */
export const schemaRows: readonly SchemaRow[] = [
  ...rowsOf<SchemaRow>("WebhookPartner", [
    {
      says: "has no endpoint",
      set: { endpoint: undefined },
      field: "spec.endpoint",
      reason: "Required",
      message: "endpoint is required",
    },
    {
      says: "has no tenants in a subscription",
      set: { "subscriptions[0].tenants": undefined },
      field: "spec.subscriptions[0].tenants",
      reason: "Required",
      message: "tenants is required",
    },
    {
      says: "has a key id twice",
      set: { "signing.keys[1]": { id: "current", secretRef: { name: "partner", key: "old" } } },
      field: "spec.signing.keys[1]",
      reason: "Duplicate",
      message: "keys[1] has the id of an earlier item",
    },
    {
      says: "has a type twice",
      set: { "subscriptions[0].types": ["payout.*", "payout.*"] },
      field: "spec.subscriptions[0].types[1]",
      reason: "Duplicate",
      message: "types[1] is already in the list",
    },
    {
      says: "has ** before the end of a type",
      set: { "subscriptions[0].types": ["**.created"] },
      field: "spec.subscriptions[0].types[0]",
      reason: "Malformed",
      message: "types[0] must match ^(([A-Za-z0-9_-]+|[*])[.])*([A-Za-z0-9_-]+|[*]|[*][*])$",
    },
    ...["data/a", "/data/~2", "/data/~", "//~"].map((pointer) => ({
      says: `has the pointer "${pointer}"`,
      set: { "subscriptions[0].payload": { exclude: [pointer] } },
      field: "spec.subscriptions[0].payload.exclude[0]",
      reason: "Malformed",
      message: "exclude[0] must match ^(/([^~/]|~[01])*)+$",
    })),
    {
      says: "has another scheme",
      set: { "signing.scheme": "HmacV2" },
      field: "spec.signing.scheme",
      reason: "NotSupported",
      message: "scheme must be HmacV1, StandardWebhooks or HttpMessageSignatures",
    },
    {
      says: "has another format",
      set: { format: "Avro" },
      field: "spec.format",
      reason: "NotSupported",
      message: "format must be Envelope or CloudEvents",
    },
    {
      says: "has a timeout of 0",
      set: { "endpoint.timeoutSeconds": 0 },
      field: "spec.endpoint.timeoutSeconds",
      reason: "OutOfRange",
      message: "timeoutSeconds must be at least 1",
    },
    {
      says: "has half a second of timeout",
      set: { "endpoint.timeoutSeconds": 0.5 },
      field: "spec.endpoint.timeoutSeconds",
      reason: "WrongType",
      message: "timeoutSeconds must be of type integer",
    },
    {
      says: "gives up after more than 30 days",
      set: { "retry.maxAgeSeconds": 2_592_001 },
      field: "spec.retry.maxAgeSeconds",
      reason: "OutOfRange",
      message: "maxAgeSeconds must be at most 2592000",
    },
    {
      says: "has a line feed in a header",
      set: { "endpoint.headers": [{ name: "x-team", value: "a\r\nx-signature: b" }] },
      field: "spec.endpoint.headers[0].value",
      reason: "Malformed",
      message: "value must match ^[!-~]([ -~]*[!-~])?$",
    },
    ...["2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z"].map((notAfter) => ({
      says: `has a key that ends at ${notAfter}`,
      set: { "signing.keys[1]": { id: "old", secretRef: { name: "partner", key: "old" }, notAfter } },
      field: "spec.signing.keys[1].notAfter",
      reason: "Malformed",
      message: "notAfter must be a time in UTC like 2026-01-31T12:00:00Z",
    })),
  ]),
  ...rowsOf<SchemaRow>("MetricCatalog", [
    {
      says: "has a runbook that is no web page",
      set: { "metrics[0].runbookUrl": "javascript:alert(1)" },
      field: "spec.metrics[0].runbookUrl",
      reason: "Malformed",
      message: "runbookUrl must match ^https?://[A-Za-z0-9\\[][!-~]*$",
    },
    {
      says: "has a schedule that is too short",
      set: {
        ...ratio,
        slos: [
          { ...slo, corrections: [{ reason: "x", schedule: { cron: "0", durationMinutes: 1, timeZone: "UTC" } }] },
        ],
      },
      field: "spec.slos[0].corrections[0].schedule.cron",
      reason: "OutOfRange",
      message: "cron must have at least 9 characters",
    },
    {
      says: "has an owner of two lines",
      set: { owner: "payments\nplatform" },
      field: "spec.owner",
      reason: "Malformed",
      message: "owner must match ^[^\\x00-\\x1F\\x7F]+$",
    },
    {
      says: "has a domain in capital letters",
      set: { "metrics[0].domain": "Payments" },
      field: "spec.metrics[0].domain",
      reason: "Malformed",
      message: "domain must match ^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
    },
    {
      says: "has no metric",
      set: { metrics: [] },
      field: "spec.metrics",
      reason: "OutOfRange",
      message: "metrics must not be empty",
    },
    {
      says: "has a label outside the closed list (Operational Metrics API §2.3)",
      set: { "metrics[0].labels": ["sessionId"] },
      field: "spec.metrics[0].labels[0]",
      reason: "NotSupported",
      message:
        "labels[0] must be region, tenant, environment, service, psp, bank_group, geo, device, version or component",
    },
    {
      says: "has a step below 10 s (Operational Metrics API §8)",
      set: { "metrics[0].minStepSeconds": 9 },
      field: "spec.metrics[0].minStepSeconds",
      reason: "OutOfRange",
      message: "minStepSeconds must be at least 10",
    },
    {
      says: "has a source without an interval",
      set: { "metrics[0].source.intervalSeconds": undefined },
      field: "spec.metrics[0].source.intervalSeconds",
      reason: "Required",
      message: "intervalSeconds is required",
    },
    {
      says: "reads a reserved label",
      set: { "stores[0].labelMap": { device: "__name__" } },
      field: "spec.stores[0].labelMap.device",
      reason: "Malformed",
      message: `device must match ${labelName}`,
    },
    {
      says: "reads a label with a control character",
      set: { "stores[0].labelMap": { device: "a\u0007" } },
      field: "spec.stores[0].labelMap.device",
      reason: "Malformed",
      message: `device must match ${labelName}`,
    },
    {
      says: "reads series with a line feed in their name",
      set: { "metrics[0].source.gauge.name": "a\nb" },
      field: "spec.metrics[0].source.gauge.name",
      reason: "Malformed",
      message: String.raw`name must match ^[^\x00-\x1F\x7F]+$`,
    },
    {
      says: "has more than 256 metrics",
      set: { metrics: manyMetrics(257) },
      field: "spec.metrics",
      reason: "OutOfRange",
      message: "metrics must have at most 256 items",
    },
    {
      says: "has more than 32 stores",
      set: { stores: manyStores(33) },
      field: "spec.stores",
      reason: "OutOfRange",
      message: "stores must have at most 32 items",
    },
  ]),
  ...rowsOf<SchemaRow>("QueryClassQuota", [
    {
      says: "allows more than 50 series (Operational Metrics API §8)",
      set: { "limits.maxSeries": 51 },
      field: "spec.limits.maxSeries",
      reason: "OutOfRange",
      message: "maxSeries must be at most 50",
    },
    {
      says: "is of a class beyond C (Operational Metrics API §2.6)",
      set: { class: "D" },
      field: "spec.class",
      reason: "NotSupported",
      message: "class must be A, B or C",
    },
  ]),
];

/** Objects with a field that the kind does not have. */
export const unknownFieldRows: readonly SchemaRow[] = [
  ...rowsOf<SchemaRow>("WebhookPartner", [
    {
      says: "misspells a field",
      set: { "endpoint.uri": "https://partner.example/" },
      field: "spec.endpoint.uri",
      reason: "Unknown",
      message: "uri is not a known field",
    },
  ]),
  ...rowsOf<SchemaRow>("MetricCatalog", [
    {
      says: "hides a query in a source",
      set: { "metrics[0].source.gauge.query": "up" },
      field: "spec.metrics[0].source.gauge.query",
      reason: "Unknown",
      message: "query is not a known field",
    },
  ]),
];
