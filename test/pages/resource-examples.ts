import type { Kind } from "../../crds/resource.ts";

/** One valid object of each kind, as its page shows it. */
export const resourceExamples: Readonly<Record<Kind, string>> = {
  WebhookPartner: `apiVersion: v1
kind: Secret
metadata:
  name: acme-payments-signing
stringData:
  current: replace-this-by-at-least-32-random-bytes
---
apiVersion: heliograph.dev/v1alpha1
kind: WebhookPartner
metadata:
  name: acme-payments
spec:
  endpoint:
    url: https://hooks.acme.example/webhooks/v1/{domain}
    timeoutSeconds: 5
  signing:
    keys:
      - id: current
        secretRef: { name: acme-payments-signing, key: current }
  subscriptions:
    - name: payouts
      types: [payout.*]
      tenants: [lumen]
  delivery:
    maxInFlight: 16
    ratePerSecond: 50
  retry:
    scheduleSeconds: [5, 30, 300, 3600]
    maxAgeSeconds: 172800
`,
  MetricCatalog: `apiVersion: heliograph.dev/v1alpha1
kind: MetricCatalog
metadata:
  name: payments
spec:
  schemaVersion: "2026-01"
  stores:
    - name: eu
      region: eu
      labelMap: { environment: env }
      prometheus: { url: "https://prometheus.eu.example" }
  metrics:
    - id: deposits_success_pct
      category: business
      unit: ratio
      description: Share of deposits that succeed, from 0 to 1.
      source:
        ratio:
          numerator: { name: deposits_total, matchers: [{ label: result, value: success }] }
          denominator: { name: deposits_total }
        intervalSeconds: 15
      labels: [region, tenant, environment, psp]
      aggregations: [avg]
      defaultAggregation: avg
  slos:
    - name: deposit
      domain: payments
      metric: deposits_success_pct
      objective: 0.95
`,
  QueryClassQuota: `apiVersion: heliograph.dev/v1alpha1
kind: QueryClassQuota
metadata:
  name: dashboards
spec:
  class: A
  limits:
    requestsPerSecond: 20
    burst: 60
    maxWindowSeconds: 604800
  cache:
    memorySeconds: 15
  clients:
    - { clientId: status-page, tenants: [lumen], environments: [prod] }
  perMetric:
    - { metric: deposits_success_pct, requestsPerSecond: 5 }
`,
  EventCatalog: `apiVersion: heliograph.dev/v1alpha1
kind: EventCatalog
metadata:
  name: payouts
spec:
  owner: team-payouts
  contact: "#payouts"
  types:
    - type: payout.processed
      description: A payout was sent to the bank.
      sensitive:
        - { pointer: /account, class: financial }
      versions:
        - version: "2026-01-31"
          schema:
            type: object
            required: [payout_id, status, amount_minor, currency]
            properties:
              payout_id: { type: string, minLength: 1 }
              status: { type: string, enum: [processed, failed], x-open-enum: true }
              amount_minor: { type: integer, minimum: 0 }
              currency: { type: string, pattern: "^[A-Z]{3}$", maxLength: 3 }
              account: { type: string }
          examples:
            - { payout_id: po_1, status: processed, amount_minor: 1250, currency: EUR }
`,
};
