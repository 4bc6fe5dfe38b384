import { counter, deprecated, histogram, over, ratio, slo } from "./catalog-changes.ts";
import { rowsOf, type Row } from "./rows.ts";

/** Objects at the very edge of what is accepted. */
export const acceptedRows: readonly Row[] = [
  ...rowsOf<Row>("WebhookPartner", [
    { says: "has only what is required", set: {} },
    {
      says: "sends over plain http and says so",
      set: {
        "endpoint.url": "http://127.0.0.1:8080",
        "networks.allowPlaintext": true,
        "networks.allowCidrs": ["127.0.0.1/32"],
      },
    },
    {
      says: "has an IPv6 address, a port and a placeholder",
      set: { "endpoint.url": "https://[2001:db8::1]:8443/v1/{domain}" },
    },
    {
      says: "has a query in both URLs, which its scheme signs",
      set: {
        "signing.scheme": "HttpMessageSignatures",
        "endpoint.url": "https://partner.example/v1/hook?code=a/b%3D&d={domain}&q=?",
        "endpoint.ackUrl": "https://partner.example?code=a/b%3D&q=?",
      },
    },
    {
      says: "has a query without a path, which its scheme does not sign",
      set: { "signing.scheme": "StandardWebhooks", "endpoint.url": "https://partner.example?code=abc" },
    },
    {
      says: "has a query in the URL of its token endpoint",
      set: {
        "endpoint.oauth2": {
          tokenUrl: "https://acme.example/acme.example/oauth2/v2.0/token?p=B2C_1_policy",
          clientId: "sender",
          clientSecretRef: { name: "partner", key: "client" },
        },
      },
    },
    { says: "has the highest port", set: { "endpoint.url": "https://partner.example:65535/webhooks/v1" } },
    {
      says: "rotates its key",
      set: {
        "signing.keys[1]": {
          id: "old",
          secretRef: { name: "partner", key: "old" },
          notAfter: "2028-02-29T00:00:00.5Z",
        },
      },
    },
    {
      says: "signs with two keys side by side",
      set: {
        "signing.scheme": "StandardWebhooks",
        "signing.sideBySide": true,
        "signing.keys[1]": { id: "old", secretRef: { name: "partner", key: "old" } },
      },
    },
    { says: "gets CloudEvents", set: { format: "CloudEvents", "subscriptions[0].producers": ["billing"] } },
    { says: "gets envelopes, and says so", set: { format: "Envelope" } },
    {
      says: "subscribes to everything of events without a tenant",
      set: { "subscriptions[0].types": ["**"], "subscriptions[0].tenants": ["-"] },
    },
    {
      says: "matches content by every operator",
      set: {
        "subscriptions[0].matchers": [
          { pointer: "/data/a~1b/~0/0", value: "" },
          { pointer: "/data/id", op: "NotEqual", type: "Number", value: "-9007199254740993.50e-120" },
          { pointer: "/data/state", op: "In", values: ["paid", "1"] },
          { pointer: "/data/", op: "NotIn", type: "Boolean", values: ["true"] },
          { pointer: "/attempts", op: "Exists" },
          { pointer: "/data/x", op: "NotExists" },
          { pointer: "/data/amount", op: "GreaterThan", value: "0" },
          { pointer: "/producer", op: "Prefix", value: "pay" },
        ],
      },
    },
    {
      says: "compares with null and with numbers by their type",
      set: {
        "subscriptions[0].matchers": [
          { pointer: "/data/x", op: "Equal", type: "Null", value: "null" },
          { pointer: "/data/x", op: "LessThan", type: "Number", value: "1e3" },
          { pointer: "/data/x", op: "In", type: "Number", values: ["1", "1.0"] },
        ],
      },
    },
    {
      says: "sends parts of its events",
      set: {
        "subscriptions[0].payload": { include: ["/data/a~1b/0", "/types"] },
        "subscriptions[1]": {
          name: "rest",
          types: ["**"],
          tenants: ["*"],
          payload: { exclude: ["/data", "/data/l/*/x"] },
        },
        "subscriptions[2]": {
          name: "classes",
          types: ["**"],
          tenants: ["*"],
          payload: { excludeClasses: ["personal"] },
        },
        "subscriptions[3]": {
          name: "both",
          types: ["**"],
          tenants: ["*"],
          payload: { include: ["/data/a"], excludeClasses: ["personal", "financial-2"] },
        },
      },
    },
    { says: "waits equally long every time", set: { "retry.scheduleSeconds": [60, 60] } },
    {
      says: "has a rate of one a second and a burst of another",
      set: { "delivery.ratePerSecond": 1, "delivery.burst": 10_000 },
    },
    {
      says: "rests equally long every time",
      set: { circuitBreaker: { failures: 1, openSeconds: 3600, maxOpenSeconds: 3600 } },
    },
    { says: "keeps dead letters for a minute", set: { "deadLetter.retainSeconds": 60 } },
    {
      says: "allows blocks with bits beyond the prefix",
      set: { "networks.allowCidrs": ["10.1.2.3/8", "2001:DB8::1/32", "::1.2.3.4/128"] },
    },
    { says: "has members that are null", set: { networks: null, "endpoint.headers": null } },
  ]),
  ...rowsOf<Row>("MetricCatalog", [
    {
      says: "names the owner, the contact, the runbook and the domain of its metrics",
      set: {
        owner: "Plateforme & Réseau",
        contact: "https://chat.example/#plateforme",
        runbookUrl: "http://[2001:db8::1]/a?b=c#d",
        domain: "0",
        "metrics[0].owner": "hosts",
        "metrics[0].contact": "#hosts",
        "metrics[0].runbookUrl": "https://runbooks.example",
        "metrics[0].domain": "infra-hosts",
      },
    },
    { says: "has only what is required", set: {} },
    {
      says: "matches by expressions, and by a text that is none",
      set: {
        "metrics[0].source.gauge.matchers": [
          { label: "code", op: "Matches", value: "5..|(?i:err)" },
          { label: "path", op: "NotMatches", value: "" },
          { label: "note", op: "Equal", value: "(5" },
        ],
      },
    },
    {
      says: "has names of Prometheus 3 in a source",
      set: {
        "stores[0].labelMap": { service: "service.name", component: 'k "8" s/é' },
        "metrics[0].source.gauge.name": 'http.server "°C" requests',
        "metrics[0].source.gauge.matchers": [{ label: "_http.method", op: "Equal", value: "GET" }],
      },
    },
    { says: "swaps two labels", set: { "stores[0].labelMap": { device: "component", component: "device" } } },
    { says: "has a step of one interval for a gauge", set: { "metrics[0].minStepSeconds": 15 } },
    { says: "has a step of two intervals for a counter", set: { ...counter, "metrics[0].minStepSeconds": 30 } },
    { says: "has a ratio", set: ratio },
    {
      says: "has the percentiles and the sum of a histogram",
      set: { ...histogram, "metrics[0].aggregations": ["avg", "sum", "p50", "p95", "p99"] },
    },
    {
      says: "has a native histogram",
      set: {
        ...histogram,
        "metrics[0].source.histogram.type": "Native",
        "metrics[0].aggregations": ["p99"],
        "metrics[0].defaultAggregation": "p99",
      },
    },
    {
      says: "has an anchored counter beside VictoriaMetrics, not in it",
      set: {
        ...counter,
        "metrics[0].source.counter.increase": "Anchored",
        "metrics[0].stores": ["eu"],
        "stores[1].prometheus.flavour": "VictoriaMetrics",
      },
    },
    {
      says: "tells a Mimir the tenant and shows a certificate",
      set: {
        "stores[0].tenancy": "StoreHeader",
        "stores[0].prometheus": {
          url: "https://mimir.example/prometheus",
          flavour: "Mimir",
          headers: [{ name: "X-Source", value: "heliograph" }],
          tls: { caSecretRef: { name: "ca" }, clientSecretRef: { name: "client" }, serverName: "mimir.internal" },
        },
      },
    },
    {
      says: "has one tenant of a Mimir for all series",
      set: {
        "stores[0].prometheus.flavour": "Mimir",
        "stores[0].prometheus.headers": [{ name: "X-Scope-OrgID", value: "platform" }],
      },
    },
    {
      says: "has a tenant header of its own and a token",
      set: {
        "stores[0].tenancy": "StoreHeader",
        "stores[0].prometheus.tenantHeader": "X-Tenant",
        "stores[0].prometheus.auth": { bearer: { secretRef: { name: "token" } } },
      },
    },
    {
      says: "has client credentials for a store",
      set: {
        "stores[0].prometheus.auth": {
          oauth2: {
            tokenUrl: "https://id.example/oauth2/token?p=policy",
            clientId: "reader",
            secretRef: { name: "id", key: "secret" },
            scopes: ["https://store.example/.default"],
            audience: "https://store.example/",
            resource: "urn:store",
          },
        },
      },
    },
    {
      says: "has temporary keys of AWS for a store",
      set: {
        "stores[0].prometheus.auth": {
          sigv4: {
            region: "eu-west-1",
            secretRef: { name: "aws", accessKeyIdKey: "id", secretAccessKeyKey: "key", sessionTokenKey: "token" },
          },
        },
      },
    },
    {
      says: "has a role of AWS for a store",
      set: {
        "stores[0].prometheus.auth": {
          sigv4: {
            region: "cn-north-1",
            webIdentity: { roleArn: "arn:aws-cn:iam::123456789012:role/teams/metrics/reader+1=,.@_-" },
          },
        },
      },
    },
    {
      says: "has the runtime of another region for a store",
      set: {
        "stores[1]": {
          name: "latam",
          region: "latam",
          peer: {
            url: "https://latam.example/heliograph",
            timeoutSeconds: 2,
            increases: "Plain",
            auth: { bearer: { secretRef: { name: "peer", key: "access" } } },
            tls: {
              caSecretRef: { name: "ca", key: "root.crt" },
              clientSecretRef: { name: "client" },
              serverName: "latam.internal",
            },
          },
        },
      },
    },
    {
      says: "lets a Thanos answer from downsampled data",
      set: { "stores[0].prometheus.flavour": "Thanos", "stores[0].prometheus.maxSourceResolution": "1h" },
    },
    {
      says: "has a sunset exactly when the grace period ends",
      set: { ...deprecated, "metrics[0].sunsetAt": "2026-06-30T00:00:00Z" },
    },
    {
      says: "has a sensitive metric with a role",
      set: { "metrics[0].sensitivity": "responsible-gaming", "metrics[0].requiredRole": "rg" },
    },
    { says: "has an SLO with the least that is said of one", set: { ...ratio, slos: [slo] } },
    {
      says: "has an SLO over the bad events of a histogram",
      set: { ...histogram, slos: [{ ...slo, threshold: -0.5, counts: "Bad" }] },
    },
    {
      says: "has an SLO over the fraction of a native histogram",
      set: { ...histogram, "metrics[0].source.histogram.type": "Native", slos: [{ ...slo, threshold: 100.5 }] },
    },
    ...[
      ["GMT", "CET", "EET", "MET", "WET", "EST", "HST", "MST", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT"],
      ["Etc/UTC", "Etc/GMT", "Etc/GMT+12", "Etc/GMT-14", "Antarctica/McMurdo", "Antarctica/DumontDUrville"],
    ].map((zones) => ({
      says: `corrects in the zones ${zones.join(", ")}`,
      set: {
        ...ratio,
        slos: [
          {
            ...slo,
            corrections: zones.map((timeZone) => ({
              reason: "backup",
              schedule: { cron: "0 2 * * SUN", durationMinutes: 60, timeZone },
            })),
          },
        ],
      },
    })),
    {
      says: "corrects fixed and scheduled intervals",
      set: {
        ...ratio,
        slos: [
          {
            ...slo,
            corrections: [
              { reason: "failover", from: "2026-11-27T02:00:00Z", to: "2026-11-27T02:00:01Z" },
              ...["UTC", "America/Argentina/Ushuaia", "America/Port-au-Prince", "Africa/Dar_es_Salaam"].map(
                (timeZone) => ({
                  reason: "backup",
                  schedule: { cron: "59 23 1-7,31 JAN-12 SUN-6,7", durationMinutes: 10_080, timeZone },
                }),
              ),
            ],
          },
        ],
      },
    },
    {
      says: "has calendar windows",
      set: {
        ...ratio,
        slos: ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "Asia/Kathmandu", "EST5EDT"].flatMap((timeZone) =>
          ["Month", "Quarter"].map((period, index) => ({
            ...slo,
            name: `${timeZone.toLowerCase().replaceAll("/", "-")}-${index}`,
            calendar: { period, timeZone },
          })),
        ),
      },
    },
    {
      says: "has as many slices as calendar windows may have",
      set: {
        "metrics[0].minStepSeconds": 60,
        "metrics[0].source.intervalSeconds": 15,
        slos: [
          { ...slo, calendar: { period: "Month", timeZone: "UTC" }, over: { ...over, sliceSeconds: 60 } },
          { ...slo, name: "q", calendar: { period: "Quarter", timeZone: "UTC" }, over: { ...over, sliceSeconds: 160 } },
        ],
      },
    },
    { says: "has an SLO of a gauge over time slices", set: { slos: [{ ...slo, over }] } },
    {
      says: "has slices as long as the smallest step, and as many as a window may have",
      set: {
        "metrics[0].minStepSeconds": 60,
        "metrics[0].source.intervalSeconds": 600,
        slos: [{ ...slo, windowDays: 34, over: { operator: "Above", threshold: -1.5, sliceSeconds: 60 } }],
      },
    },
    {
      says: "has an SLO with the least objective that the default burn rates allow",
      set: { ...ratio, slos: [{ ...slo, objective: 0.9306 }] },
    },
    {
      says: "has an SLO with burn rates that its objective allows",
      set: { ...ratio, slos: [{ ...slo, objective: 0.9, burnRates: [9.99, 6, 3, 1] }] },
    },
    {
      says: "has a public SLO of one tenant",
      set: { ...ratio, slos: [{ ...slo, title: "Logging in", public: true, publicTenants: ["lumen"] }] },
    },
    {
      says: "changes a unit and its schemaVersion",
      replaces: {},
      set: { "metrics[0].unit": "percent", schemaVersion: "2026-02" },
    },
    {
      says: "changes a series and keeps its schemaVersion",
      replaces: {},
      set: { "metrics[0].source.gauge.name": "cpu" },
    },
  ]),
  ...rowsOf<Row>("EventCatalog", [
    { says: "has only what is required", set: {} },
    {
      says: "deprecates a version without an end",
      set: {
        contact: "https://chat.example/payouts",
        "types[0].versions[0].state": "Deprecated",
        "types[0].versions[0].deprecatedAt": "2026-01-01T00:00:00Z",
      },
    },
    {
      says: "has examples, a null among them, and sensitive fields of a list",
      set: {
        "types[0].sensitive": [{ pointer: "/lines/*/iban", class: "financial" }],
        "types[0].versions[0].version": "2024-02-29",
        "types[0].versions[0].schema": {
          type: "object",
          properties: {
            note: { type: ["string", "null"], enum: ["late", null] },
            lines: { type: "array", items: { type: "object", properties: { iban: { type: "string" } } } },
          },
        },
        "types[0].versions[0].examples": [{ note: null, lines: [{ iban: "DE02" }] }],
      },
    },
  ]),
  ...rowsOf<Row>("QueryClassQuota", [
    { says: "has only what is required", set: { clients: undefined } },
    { says: "serves nothing from memory", set: { cache: { memorySeconds: 0 } } },
    { says: "bounds a metric by requests alone", set: { perMetric: [{ metric: "cpu_util", requestsPerSecond: 1 }] } },
    { says: "names a client and a scope of one name", set: { "clients[1]": { scope: "dashboards" } } },
  ]),
];
