import type { ConsoleInstallation, ReaderName } from "./console-installation.ts";

/** A page of the console as the walk opens it. */
export interface PageRow {
  /** Of the test and of its pictures: lower case with hyphens. */
  readonly name: string;
  /** Below `/console`, such as `/events?state=dead`. */
  readonly path: string | ((installation: ConsoleInstallation) => string);
  /** @default "admin" */
  readonly reader?: ReaderName;
  /** The heading of the page. */
  readonly heading: string;
  /** Texts that are seen once the page has its answers. */
  readonly sees: readonly (string | RegExp)[];
  /** Texts that this reader must not see. @default none */
  readonly misses?: readonly string[];
}

/** Every page; the walk opens each in both themes. */
export const pageRows: readonly PageRow[] = [
  {
    name: "home",
    path: "/",
    heading: "Home",
    sees: [
      "Needs attention (",
      "Deliveries, last 24 hours",
      "Success rate",
      "Metrics API",
      "Stores",
      ", administrator",
    ],
  },
  {
    name: "home-of-metrics",
    path: "/",
    reader: "metrics",
    heading: "Home",
    sees: ["Your token may not read the partners", "Latency p95"],
    misses: ["Stores", "administrator"],
  },
  {
    name: "partners",
    path: "/partners",
    heading: "Partners",
    sees: ["default/acme-payments", "default/north-ledger", "Success, 24 h", "Next key expiry", "healthy"],
  },
  {
    name: "partner",
    path: "/partners/default/north-ledger",
    heading: "default/north-ledger",
    sees: ["Health", "http://127.0.0.1:", "Circuit breaker", "Responses by class", "webhook-partner.yaml", "HmacV1"],
  },
  {
    name: "partner-not-visible",
    path: "/partners/default/north-ledger",
    reader: "partner",
    heading: "default/north-ledger",
    sees: ["Try again"],
  },
  {
    name: "partner-rejected",
    path: "/partners/default/typo-bank",
    heading: "default/typo-bank",
    sees: ["rejected", /Definition rejected .*endpoint/u, "Correct the definition", /\/more\.yaml$/u],
    misses: ["Try again"],
  },
  { name: "events", path: "/events", heading: "Events", sees: ["evt-payout-0003-created", "2 delivered"] },
  {
    name: "events-by-status",
    path: "/events?status=4xx",
    heading: "Events",
    sees: ["evt-payout-0002-processed", "HTTP 422"],
  },
  { name: "events-without-match", path: "/events?type=nothing.here", heading: "Events", sees: ["No events match"] },
  {
    name: "event",
    path: ({ events }) => `/events/${events.retried}?open=default/acme-payments`,
    heading: "evt-payout-0001-processed",
    sees: [
      "POST http://127.0.0.1",
      "X-Webhook-Producer: payouts",
      "HTTP 503",
      "Waiting (TTFB)",
      '"payout_id": "payout-0001"',
    ],
  },
  {
    name: "event-not-visible",
    path: "/events/evt-nowhere",
    heading: "evt-nowhere",
    sees: ["The event does not exist or is not visible to this caller"],
  },
  {
    name: "event-types",
    path: "/types",
    heading: "Event types",
    sees: ["payout.processed", "A payout was requested.", "team-payouts", "2026-01-31"],
  },
  {
    name: "event-types-without-match",
    path: "/types?state=Retired",
    heading: "Event types",
    sees: ["No event types match"],
  },
  {
    name: "event-type",
    path: "/types/payout.processed",
    heading: "payout.processed",
    sees: [
      "#payouts",
      "active",
      "one of processed, failed; others may follow",
      "sensitive: financial",
      '"currency": "EUR"',
    ],
  },
  {
    name: "event-type-not-visible",
    path: "/types/payout.procesed",
    heading: "payout.procesed",
    sees: ["No event catalog declares the type, or the caller may not see it.", "Try again"],
  },
  {
    name: "dead-letters",
    path: "/dead-letters",
    heading: "Dead letters",
    sees: ["evt-payout-0002-processed", "status 422", "Acknowledge"],
  },
  { name: "replays", path: "/replays", heading: "Replays", sees: ["Newest first"] },
  { name: "replay-not-visible", path: "/replays/nothing", heading: "Replay nothing", sees: ["Try again"] },
  { name: "catalog", path: "/explorer", heading: "Explorer", sees: ["auth_success_rate", "Share of login attempts"] },
  {
    name: "catalog-of-owner",
    path: "/explorer?owner=identity",
    heading: "Explorer",
    sees: ["auth_success_rate", "Owner"],
  },
  {
    name: "explorer",
    path: "/explorer?metric=auth_success_rate&range=1h&filter%5Btenant%5D=lumen&group_by=region",
    heading: "Explorer",
    sees: ["Estimated cost", "Data table", "region=eu", "newest sample", "owner identity", "Runbook"],
  },
  {
    name: "explorer-without-tenant",
    path: "/explorer?metric=auth_success_rate",
    heading: "Explorer",
    sees: ["Choose a tenant", "vega"],
  },
  {
    name: "explorer-refused",
    path: "/explorer?metric=auth_success_rate&range=30d&step=15s&filter%5Btenant%5D=lumen",
    reader: "metrics",
    heading: "Explorer",
    sees: ["Query rejected", "Run with"],
  },
  { name: "slos", path: "/slos?tenant=lumen", heading: "SLOs", sees: ["Logging in", "Budget left"] },
  { name: "slos-of-all-tenants", path: "/slos", heading: "SLOs", sees: ["Logging in", "vega", "Burn rate"] },
  {
    name: "slo",
    path: "/slos/login?tenant=lumen",
    heading: "SLO Logging in",
    sees: ["/status/lumen", "One point every", "The error budget is spent", "By region", "Open in Explorer"],
  },
  { name: "quotas", path: "/quotas", heading: "Quotas", sees: ["Class B", "Cost units", "Smallest step"] },
  { name: "usage", path: "/usage", heading: "Usage", sees: ["Group by", "Tenant", "Download CSV"] },
  { name: "preview", path: "/preview", heading: "Preview of an edit", sees: ["Edited resources, YAML"] },
  { name: "unknown-preview", path: "/preview/none", heading: "Preview", sees: ["The preview does not exist"] },
  { name: "unknown-page", path: "/nowhere", heading: "Page not found", sees: ["Go to Home"] },
];
