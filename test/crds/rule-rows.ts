import { counter, deprecated, histogram, ratio, series } from "./catalog-changes.ts";
import { rowsOf, type RuleRow } from "./rows.ts";
import { subscriptionRuleRows } from "./subscription-rule-rows.ts";
import { peerRuleRows } from "./peer-rule-rows.ts";
import { sloRuleRows } from "./slo-rule-rows.ts";
import { storeRuleRows } from "./store-rule-rows.ts";

const url = "spec.endpoint.url";
const storeUrl = "spec.stores[0].prometheus.url";
const absolute = "the URL must be an absolute http or https URL";
const authority =
  "the host must be a DNS name, an IPv4 address or an IPv6 address in brackets, and the port at most 65535";
const brackets = "the brackets must contain an IPv6 address";
const characters = "the URL must contain only valid URL characters; percent-encode all others";
const cidr = "the block must be a CIDR block: an address, a slash and a prefix length";

const storeSets = "this header is reserved: requests to the store set it";
const senderSets = "this header is reserved: the HTTP client sets it";
const onlyPrometheus = "VictoriaMetrics supports neither anchored increases nor native histograms";
const p95 = { "metrics[0].aggregations": ["p95"], "metrics[0].defaultAggregation": "p95" };

const version = "types[0].versions[0]";
const eventRules = rowsOf<RuleRow>("EventCatalog", [
  {
    says: "has more versions than a catalog holds",
    set: {
      types: Array.from({ length: 11 }, (_, index) => ({
        type: `payout.kind_${index}`,
        description: "One of many.",
        versions: Array.from({ length: 19 }, (_one, day) => ({
          version: `2026-01-${String(day + 1).padStart(2, "0")}`,
          schema: { type: "object" },
        })),
      })),
    },
    field: "spec.types",
    message: "a catalog has at most 200 versions of all types",
  },
  {
    says: "declares a type of this service",
    set: { "types[0].type": "heliograph.ping" },
    field: "spec.types[0].type",
    message: "types that begin with heliograph. are reserved for operational events",
  },
  {
    says: "ends an active version",
    set: { [`${version}.sunsetAt`]: "2027-01-01T00:00:00Z" },
    field: `spec.${version}.state`,
    message: "deprecatedAt and sunsetAt are allowed for deprecated versions only",
  },
  {
    says: "deprecates a version without a time",
    set: { [`${version}.state`]: "Deprecated" },
    field: `spec.${version}.deprecatedAt`,
    message: "a deprecated version requires deprecatedAt",
  },
  {
    says: "ends a version before its deprecation",
    set: {
      [`${version}.state`]: "Deprecated",
      [`${version}.deprecatedAt`]: "2026-01-01T00:00:00.001Z",
      [`${version}.sunsetAt`]: "2026-01-01T00:00:00Z",
    },
    field: `spec.${version}.sunsetAt`,
    message: "sunsetAt must be later than deprecatedAt",
  },
]);

const partnerRules = rowsOf<RuleRow>("WebhookPartner", [
  {
    says: "sends over plain http without saying so",
    set: { "endpoint.url": "http://partner.example/v1" },
    field: url,
    message: "the endpoint's URL must be https, unless networks.allowPlaintext is true",
  },
  { says: "has a path for a URL", set: { "endpoint.url": "/webhooks/v1" }, field: url, message: absolute },
  {
    says: "speaks something else than HTTP",
    set: { "endpoint.url": "ftp://partner.example/" },
    field: url,
    message: absolute,
  },
  { says: "has a URL in capitals", set: { "endpoint.url": "HTTPS://partner.example/" }, field: url, message: absolute },
  { says: "has a URL without a host", set: { "endpoint.url": "https:///v1" }, field: url, message: absolute },
  {
    says: "has a host in octal digits",
    set: { "endpoint.url": "https://0177.0.0.1/v1" },
    field: url,
    message: authority,
  },
  {
    says: "has a host in hexadecimal digits",
    set: { "endpoint.url": "https://0x7f.1/v1" },
    field: url,
    message: authority,
  },
  { says: "has a number for a host", set: { "endpoint.url": "https://2130706433/v1" }, field: url, message: authority },
  { says: "has an octet above 255", set: { "endpoint.url": "https://10.0.0.256/v1" }, field: url, message: authority },
  {
    says: "has a port above 65535",
    set: { "endpoint.url": "https://partner.example:65536/v1" },
    field: url,
    message: authority,
  },
  {
    says: "has a placeholder in the host",
    set: { "endpoint.url": "https://{domain}.example/v1" },
    field: url,
    message: authority,
  },
  {
    says: "has an IPv6 address with two gaps",
    set: { "endpoint.url": "https://[1::2::3]/v1" },
    field: url,
    message: brackets,
  },
  {
    says: "has an IPv4 address in brackets",
    set: { "endpoint.url": "https://[10.0.0.1]/v1" },
    field: url,
    message: brackets,
  },
  {
    says: "has a mapped IPv4 address in brackets",
    set: { "endpoint.url": "https://[::ffff:10.0.0.1]/v1" },
    field: url,
    message: brackets,
  },
  {
    says: "has a password in the URL",
    set: { "endpoint.url": "https://user:word@partner.example/v1" },
    field: url,
    message: "the URL must not contain a user or password",
  },
  {
    says: "has a query in the URL",
    set: { "endpoint.url": "https://partner.example/v1?tenant=lumen" },
    field: url,
    message: "the URL must not have a query with HmacV1, which signs only the path",
  },
  {
    says: "has a query in the URL of acknowledgements",
    set: { "endpoint.ackUrl": "https://partner.example/webhooks/ack?code=abc" },
    field: "spec.endpoint.ackUrl",
    message: "ackUrl must not have a query with HmacV1, which signs only the path",
  },
  {
    says: "has a fragment in the URL",
    set: { "endpoint.url": "https://partner.example/v1#payments" },
    field: url,
    message: "the URL must not have a fragment",
  },
  {
    says: "has an unknown placeholder in the URL",
    set: { "endpoint.url": "https://partner.example/v1/{tenant}" },
    field: url,
    message: "the only placeholder allowed in the URL is {domain}",
  },
  {
    says: "has a space in the URL",
    set: { "endpoint.url": "https://partner.example/v1/a b" },
    field: url,
    message: characters,
  },
  {
    says: "has two headers of one name",
    set: {
      "endpoint.headers": [
        { name: "X-Team", value: "a" },
        { name: "x-team", value: "b" },
      ],
    },
    field: "spec.endpoint.headers",
    message: "header names must be unique, ignoring case",
  },
  {
    says: "sets a header of the signature",
    set: { "endpoint.headers": [{ name: "X-Signature", value: "v1=" }] },
    field: "spec.endpoint.headers[0].name",
    message: "this header is reserved: every delivery sets it",
  },
  {
    says: "sets a header of another scheme's signature",
    set: { "endpoint.headers": [{ name: "Webhook-Id", value: "1" }] },
    field: "spec.endpoint.headers[0].name",
    message: "this header is reserved: every delivery sets it",
  },
  {
    says: "sets a header of the connection",
    set: { "endpoint.headers": [{ name: "Transfer-Encoding", value: "chunked" }] },
    field: "spec.endpoint.headers[0].name",
    message: "this header is reserved: the HTTP client sets it",
  },
  {
    says: "signs with a key that ends",
    set: { "signing.keys[0].notAfter": "2026-01-01T00:00:00Z" },
    field: "spec.signing.keys",
    message: "the first key must not have notAfter, because it signs every delivery",
  },
  {
    says: "has one key under two ids",
    set: { "signing.keys[1]": { id: "next", secretRef: { name: "partner", key: "hmac" } } },
    field: "spec.signing.keys",
    message: "keys must refer to different Secret keys",
  },
  {
    says: "subscribes to every tenant and one more",
    set: { "subscriptions[0].tenants": ["lumen", "*"] },
    field: "spec.subscriptions[0].tenants",
    message: "* matches all tenants and cannot be combined with others",
  },
  {
    says: "has a burst of no rate",
    set: { "delivery.burst": 5 },
    field: "spec.delivery.burst",
    message: "burst requires ratePerSecond",
  },
  {
    says: "rests at first for longer than at most",
    set: { "circuitBreaker.openSeconds": 601 },
    field: "spec.circuitBreaker.maxOpenSeconds",
    message: "maxOpenSeconds must be at least openSeconds",
  },
  {
    says: "waits less after a later attempt",
    set: { "retry.scheduleSeconds": [5, 60, 30] },
    field: "spec.retry.scheduleSeconds",
    message: "delays must not decrease",
  },
  ...[
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "010.0.0.0/8",
    "1.2.3/8",
    "::/129",
    "1::2::3/64",
    "::ffff:10.0.0.0/104",
    "fe80::1%eth0/64",
  ].map((text) => ({
    says: `allows ${text}`,
    set: { "networks.allowCidrs": [text] },
    field: "spec.networks.allowCidrs[0]",
    message: cidr,
  })),
]);

const oneKind = "a source must have exactly one of gauge, counter, ratio and histogram";
const matcherOfLe = "no matcher can use le, which contains the bounds of histograms";
const leMatchers = [{ label: "le", value: "10" }];
const meaning = "a metric's unit and kind of source can only change together with schemaVersion";

const catalogRules = rowsOf<RuleRow>("MetricCatalog", [
  {
    says: "has a metric in a store of no name here",
    set: { "metrics[0].stores": ["apac"] },
    field: "spec.metrics[0].stores",
    message: "a metric's stores must be stores of this catalog",
  },
  {
    says: "has an interval for an unknown store",
    set: { "metrics[0].source.storeIntervals": [{ store: "apac", intervalSeconds: 30 }] },
    field: "spec.metrics[0].source.storeIntervals",
    message: "storeIntervals must refer to stores of the metric",
  },
  {
    says: "has an interval for a store that does not hold the metric",
    set: {
      "metrics[0].stores": ["eu"],
      "metrics[0].source.storeIntervals": [{ store: "latam", intervalSeconds: 30 }],
    },
    field: "spec.metrics[0].source.storeIntervals",
    message: "storeIntervals must refer to stores of the metric",
  },
  {
    says: "has a compliance scope over a region without a store",
    set: { "metrics[0].complianceScope": { regions: ["eu", "apac"] } },
    field: "spec.metrics[0].complianceScope.regions",
    message: "the regions of a complianceScope must be regions of this catalog's stores",
  },
  {
    says: "has a metric replaced by itself",
    set: { ...deprecated, "metrics[0].replacedBy": "cpu_util" },
    field: "spec.metrics[0].replacedBy",
    message: "replacedBy must be another metric of this catalog",
  },
  {
    says: "has a metric replaced by one of no id here",
    set: { ...deprecated, "metrics[0].replacedBy": "cpu_share" },
    field: "spec.metrics[0].replacedBy",
    message: "replacedBy must be another metric of this catalog",
  },
  {
    says: "changes a unit and keeps its schemaVersion (Operational Metrics API §9)",
    replaces: {},
    set: { "metrics[0].unit": "percent" },
    field: "spec.metrics[0]",
    message: meaning,
  },
  {
    says: "changes the kind of a source and keeps its schemaVersion (Operational Metrics API §9)",
    replaces: {},
    set: counter,
    field: "spec.metrics[0]",
    message: meaning,
  },
  {
    says: "maps a label outside the closed list (Operational Metrics API §2.3)",
    set: { "stores[0].labelMap": { userId: "user" } },
    field: "spec.stores[0].labelMap",
    message: "labelMap can only contain governed labels",
  },
  {
    says: "maps a label to le",
    set: { "stores[0].labelMap": { device: "le" } },
    field: "spec.stores[0].labelMap",
    message: "no label can map to le, which contains the bounds of histograms",
  },
  {
    says: "tells a store the tenant without saying how",
    set: { "stores[0].tenancy": "StoreHeader" },
    field: "spec.stores[0].prometheus.tenantHeader",
    message: "tenancy StoreHeader requires tenantHeader, because the flavour has no default",
  },
  {
    says: "names a header for a tenant that the series name",
    set: { "stores[0].prometheus.tenantHeader": "X-Tenant" },
    field: "spec.stores[0].prometheus.tenantHeader",
    message: "tenantHeader requires tenancy StoreHeader",
  },
  {
    says: "fixes the header that tells the tenant",
    set: {
      "stores[0].tenancy": "StoreHeader",
      "stores[0].prometheus.flavour": "Mimir",
      "stores[0].prometheus.headers": [{ name: "x-scope-orgid", value: "all" }],
    },
    field: "spec.stores[0].prometheus.headers",
    message: "the tenant header must not be one of the fixed headers",
  },
  {
    says: "has two store headers of one name",
    set: {
      "stores[0].prometheus.headers": [
        { name: "X-A", value: "1" },
        { name: "x-a", value: "2" },
      ],
    },
    field: "spec.stores[0].prometheus.headers",
    message: "header names must be unique, ignoring case",
  },
  {
    says: "has credentials among the headers of a store",
    set: { "stores[0].prometheus.headers": [{ name: "Authorization", value: "Bearer x" }] },
    field: "spec.stores[0].prometheus.headers[0].name",
    message: storeSets,
  },
  {
    says: "frames requests to a store itself",
    set: { "stores[0].prometheus.headers": [{ name: "Transfer-Encoding", value: "chunked" }] },
    field: "spec.stores[0].prometheus.headers[0].name",
    message: senderSets,
  },
  {
    says: "tells a tenant in a header of credentials",
    set: { "stores[0].tenancy": "StoreHeader", "stores[0].prometheus.tenantHeader": "Cookie" },
    field: "spec.stores[0].prometheus.tenantHeader",
    message: storeSets,
  },
  {
    says: "tells a tenant in a header of the connection",
    set: { "stores[0].tenancy": "StoreHeader", "stores[0].prometheus.tenantHeader": "Host" },
    field: "spec.stores[0].prometheus.tenantHeader",
    message: senderSets,
  },
  {
    says: "trusts certificates over plain http",
    set: { "stores[0].prometheus.tls": { caSecretRef: { name: "ca" } } },
    field: "spec.stores[0].prometheus.tls",
    message: "tls requires an https URL",
  },
  {
    says: "lets a Prometheus answer from downsampled data",
    set: { "stores[0].prometheus.maxSourceResolution": "5m" },
    field: "spec.stores[0].prometheus.maxSourceResolution",
    message: "maxSourceResolution requires the flavour Thanos",
  },
  {
    says: "has an anchored counter in VictoriaMetrics",
    set: {
      ...counter,
      "metrics[0].source.counter.increase": "Anchored",
      "stores[1].prometheus.flavour": "VictoriaMetrics",
    },
    field: "spec.metrics[0].source",
    message: onlyPrometheus,
  },
  {
    says: "has a native histogram in VictoriaMetrics",
    set: {
      ...histogram,
      ...p95,
      "metrics[0].source.histogram.type": "Native",
      "stores[1].prometheus.flavour": "VictoriaMetrics",
    },
    field: "spec.metrics[0].source",
    message: onlyPrometheus,
  },
  {
    says: "has an anchored ratio in VictoriaMetrics",
    set: {
      ...ratio,
      "metrics[0].source.ratio.increase": "Anchored",
      "metrics[0].stores": ["latam"],
      "stores[1].prometheus.flavour": "VictoriaMetrics",
    },
    field: "spec.metrics[0].source",
    message: onlyPrometheus,
  },
  {
    says: "has a native histogram that is anchored",
    set: {
      ...histogram,
      ...p95,
      "metrics[0].source.histogram.type": "Native",
      "metrics[0].source.histogram.increase": "Anchored",
    },
    field: "spec.metrics[0].source.histogram.increase",
    message: "the increase of a native histogram must be Extrapolated",
  },
  {
    says: "has a store without a scheme",
    set: { "stores[0].prometheus.url": "eu:9090" },
    field: storeUrl,
    message: absolute,
  },
  {
    says: "has a store without a port after the colon",
    set: { "stores[0].prometheus.url": "http://eu:" },
    field: storeUrl,
    message: authority,
  },
  {
    says: "has a store with a broken IPv6 address",
    set: { "stores[0].prometheus.url": "http://[:::]" },
    field: storeUrl,
    message: brackets,
  },
  {
    says: "has a store with a password in its URL",
    set: { "stores[0].prometheus.url": "http://a:b@eu:9090" },
    field: storeUrl,
    message: "the URL must not contain a user or password",
  },
  {
    says: "has a store with a query in its URL",
    set: { "stores[0].prometheus.url": "http://eu:9090/?a=b" },
    field: storeUrl,
    message: "the URL must not have a query, because the path of the store's API is appended",
  },
  {
    says: "has a store with a fragment in its URL",
    set: { "stores[0].prometheus.url": "http://eu:9090/#a" },
    field: storeUrl,
    message: "the URL must not have a fragment",
  },
  {
    says: "has a store with a placeholder in its URL",
    set: { "stores[0].prometheus.url": "http://eu:9090/{domain}" },
    field: storeUrl,
    message: characters,
  },
  {
    says: "has percentiles of a gauge (Operational Metrics API §4.7)",
    set: { "metrics[0].aggregations": ["avg", "p99"] },
    field: "spec.metrics[0].aggregations",
    message: "percentiles require a histogram",
  },
  {
    says: "has the maximum of a histogram",
    set: { ...histogram, "metrics[0].aggregations": ["avg", "max"] },
    field: "spec.metrics[0].aggregations",
    message: "a histogram supports neither min nor max",
  },
  {
    says: "has the sum of a ratio",
    set: { ...ratio, "metrics[0].aggregations": ["avg", "sum"] },
    field: "spec.metrics[0].aggregations",
    message: "a ratio supports only avg, because no other aggregation of a ratio composes",
  },
  {
    says: "has a default that is no aggregation of the metric",
    set: { "metrics[0].defaultAggregation": "max" },
    field: "spec.metrics[0].defaultAggregation",
    message: "defaultAggregation must be one of the aggregations",
  },
  {
    says: "has a step of a counter below two intervals",
    set: { ...counter, "metrics[0].minStepSeconds": 29 },
    field: "spec.metrics[0].minStepSeconds",
    message: "minStepSeconds must be at least two intervals, because an increase needs two samples",
  },
  {
    says: "has a step of a counter below two intervals of one store",
    set: {
      ...counter,
      "metrics[0].source.storeIntervals": [{ store: "latam", intervalSeconds: 30 }],
      "metrics[0].minStepSeconds": 59,
    },
    field: "spec.metrics[0].minStepSeconds",
    message: "minStepSeconds must be at least two intervals, because an increase needs two samples",
  },
  {
    says: "has a sensitive metric without a role (Operational Metrics API §5)",
    set: { "metrics[0].sensitivity": "finance" },
    field: "spec.metrics[0].requiredRole",
    message: "requiredRole must be set if, and only if, sensitivity is not none",
  },
  {
    says: "has a role for a metric that is not sensitive",
    set: { "metrics[0].requiredRole": "finance" },
    field: "spec.metrics[0].requiredRole",
    message: "requiredRole must be set if, and only if, sensitivity is not none",
  },
  {
    says: "has an active metric with a sunset",
    set: { "metrics[0].sunsetAt": "2027-01-01T00:00:00Z" },
    field: "spec.metrics[0].state",
    message: "replacedBy, deprecatedAt and sunsetAt are allowed for deprecated metrics only",
  },
  {
    says: "has a deprecated metric that does not say since when",
    set: { "metrics[0].state": "Deprecated" },
    field: "spec.metrics[0].deprecatedAt",
    message: "a deprecated metric requires deprecatedAt",
  },
  {
    says: "has a sunset a millisecond before the grace period ends (Operational Metrics API §9)",
    set: { ...deprecated, "metrics[0].sunsetAt": "2026-06-29T23:59:59.999Z" },
    field: "spec.metrics[0].sunsetAt",
    message: "sunsetAt must be at least 180 days after deprecatedAt",
  },
  {
    says: "has a source of no kind",
    set: { "metrics[0].source.gauge": undefined },
    field: "spec.metrics[0].source",
    message: oneKind,
  },
  {
    says: "has a source of two kinds",
    set: { "metrics[0].source.counter": series },
    field: "spec.metrics[0].source",
    message: oneKind,
  },
  {
    says: "matches le of a gauge",
    set: { "metrics[0].source.gauge.matchers": leMatchers },
    field: "spec.metrics[0].source.gauge.matchers[0].label",
    message: matcherOfLe,
  },
  {
    says: "matches le of a counter",
    set: { ...counter, "metrics[0].source.counter.matchers": leMatchers },
    field: "spec.metrics[0].source.counter.matchers[0].label",
    message: matcherOfLe,
  },
  {
    says: "matches le of a numerator",
    set: { ...ratio, "metrics[0].source.ratio.numerator.matchers": leMatchers },
    field: "spec.metrics[0].source.ratio.numerator.matchers[0].label",
    message: matcherOfLe,
  },
  {
    says: "matches le of a denominator",
    set: { ...ratio, "metrics[0].source.ratio.denominator.matchers": leMatchers },
    field: "spec.metrics[0].source.ratio.denominator.matchers[0].label",
    message: matcherOfLe,
  },
  {
    says: "matches le of a histogram",
    set: { ...histogram, "metrics[0].source.histogram.matchers": leMatchers },
    field: "spec.metrics[0].source.histogram.matchers[0].label",
    message: matcherOfLe,
  },
  {
    says: "names the buckets of a histogram",
    set: { ...histogram, "metrics[0].source.histogram.name": "settle_milliseconds_bucket" },
    field: "spec.metrics[0].source.histogram.name",
    message: "a histogram's name must not end in _bucket, _sum or _count",
  },
]);

const quotaRules = rowsOf<RuleRow>("QueryClassQuota", [
  {
    says: "names a client twice",
    set: { "clients[1]": { clientId: "dashboards" } },
    field: "spec.clients",
    message: "each clientId must be unique",
  },
  {
    says: "names a scope twice",
    set: { clients: [{ scope: "metrics:read" }, { scope: "metrics:read" }] },
    field: "spec.clients",
    message: "each scope must be unique",
  },
  {
    says: "has a client with both an id and a scope",
    set: { "clients[0].scope": "metrics:read" },
    field: "spec.clients[0]",
    message: "a client must have either a clientId or a scope",
  },
  {
    says: "has a client with neither an id nor a scope",
    set: { "clients[0]": { tenants: ["lumen"] } },
    field: "spec.clients[0]",
    message: "a client must have either a clientId or a scope",
  },
  {
    says: "serves what may change for longer than what may not",
    set: { cache: { memorySeconds: 5, hotTailSeconds: 6 } },
    field: "spec.cache",
    message: "hotTailSeconds must be at most memorySeconds",
  },
  {
    says: "bounds a metric by nothing",
    set: { perMetric: [{ metric: "cpu_util" }] },
    field: "spec.perMetric[0]",
    message: "a metric requires requestsPerSecond or costUnitsPerMinute",
  },
]);

/** Objects that break one rule each. Every rule of every kind has a row here, which a test asserts. */
export const ruleRows: readonly RuleRow[] = [
  ...partnerRules,
  ...subscriptionRuleRows,
  ...eventRules,
  ...catalogRules,
  ...storeRuleRows,
  ...sloRuleRows,
  ...peerRuleRows,
  ...quotaRules,
];
