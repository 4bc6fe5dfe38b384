/**
 * The rooms of the product, in the order in which they build on each other: `room < other rooms that it may import`. A
 * room is a folder with everything below it, or a file that stands beside folders; a file belongs to the room with the
 * longest name. Names after `<` stand in `runtime/` unless they begin with `api/`, `cli/`, `crds/`, `demo/`,
 * `kube/`, `limits/`, `network/` or `operator/`; `crds/` and `kube/` by themselves are all rooms in them.
 * Rooms of `cli/`, `console/` and `runtime/` may import `api/`.
 */
const table = `
  api/
  limits/
  crds/signing-key.ts
  crds/types/
  crds/store-credentials.ts
  crds/config.ts < crds/signing-key.ts crds/store-credentials.ts crds/types/
  crds/networks.ts
  crds/material.ts < crds/config.ts
  crds/part.ts < crds/config.ts crds/material.ts
  crds/policy.ts
  crds/problem.ts
  crds/reasons.ts
  crds/resource.ts < crds/types/
  crds/time-zone.ts
  crds/corrections.ts < crds/time-zone.ts crds/types/
  crds/declared-types.ts < crds/config.ts
  crds/re2.ts
  crds/event-schema/ < crds/re2.ts
  crds/checks/ <
      crds/re2.ts crds/event-schema/
      crds/signing-key.ts crds/config.ts crds/networks.ts crds/part.ts crds/policy.ts crds/problem.ts crds/reasons.ts
      crds/types/ crds/resource.ts crds/time-zone.ts
  crds/validate.ts < crds/problem.ts crds/types/ crds/resource.ts crds/checks/
  crds/compile/ <
      crds/event-schema/
      crds/config.ts crds/store-credentials.ts crds/networks.ts crds/material.ts crds/part.ts crds/policy.ts
      crds/problem.ts crds/reasons.ts crds/types/ crds/resource.ts crds/checks/ crds/validate.ts
  crds/configz.ts < crds/reasons.ts crds/resource.ts
  crds/shards/ < crds/config.ts crds/material.ts crds/resource.ts crds/compile/
  network/
  kube/backoff.ts
  kube/metrics.ts < limits/
  kube/outage.ts < limits/
  kube/client/ < network/ kube/backoff.ts limits/ kube/outage.ts
  kube/micro-time.ts
  kube/events/ < limits/ kube/metrics.ts kube/client/ kube/micro-time.ts
  kube/queue/ < kube/backoff.ts limits/ kube/metrics.ts kube/outage.ts kube/client/
  kube/reflector/ < kube/backoff.ts limits/ kube/outage.ts kube/client/
  kube/informer/ < limits/ kube/metrics.ts kube/client/ kube/queue/ kube/reflector/
  kube/lease/ < limits/ kube/metrics.ts kube/outage.ts kube/client/ kube/micro-time.ts
  operator/resource-types.ts < crds/ kube/
  operator/inventory/ < crds/ kube/ limits/ operator/resource-types.ts
  operator/observe/ < crds/ kube/ limits/ network/
  operator/rules/ < crds/ kube/ limits/ operator/resource-types.ts operator/inventory/
  operator/conditions.ts < crds/ kube/ operator/resource-types.ts operator/observe/ operator/rules/
  operator/version.ts
  operator/metrics.ts < crds/ limits/ operator/resource-types.ts operator/conditions.ts operator/version.ts
  operator/publish/ <
      crds/ kube/ limits/ operator/resource-types.ts operator/inventory/ operator/observe/ operator/metrics.ts
  operator/controllers/ <
      crds/ kube/ limits/ operator/resource-types.ts operator/inventory/ operator/observe/ operator/conditions.ts
      operator/metrics.ts operator/publish/ operator/rules/
  operator/health-server.ts < kube/
  operator/options.ts < crds/ kube/ limits/ operator/inventory/ operator/observe/ operator/rules/ operator/controllers/
  operator/leader-term.ts <
      kube/ operator/inventory/ operator/observe/ operator/metrics.ts operator/publish/ operator/rules/
      operator/controllers/ operator/options.ts
  operator/policy/ < crds/ kube/ limits/ operator/metrics.ts
  operator/start-error.ts
  operator/watches.ts <
      crds/ kube/ limits/ operator/resource-types.ts operator/inventory/ operator/observe/ operator/options.ts
  operator/main.ts <
      crds/ kube/ limits/ operator/resource-types.ts operator/inventory/ operator/version.ts operator/metrics.ts
      operator/publish/ operator/controllers/ operator/health-server.ts operator/options.ts operator/leader-term.ts
      operator/policy/ operator/start-error.ts operator/watches.ts
  console/
  runtime/tracing/ < limits/ network/
  runtime/pods/
  runtime/errors/ < api/
  runtime/json/ < crds/ errors/
  runtime/version.ts
  runtime/config/yaml/
  runtime/config/settings/ < crds/ config/yaml/
  runtime/config/config-source.ts < crds/
  runtime/config/unsupported-part.ts < crds/
  runtime/config/supported-config.ts < crds/ config/unsupported-part.ts
  runtime/config/replace-file.ts
  runtime/config/folder/ < crds/ config/yaml/ config/config-source.ts config/replace-file.ts
  runtime/config/kubernetes/ <
      crds/ kube/ limits/ config/config-source.ts config/supported-config.ts config/replace-file.ts
  runtime/nats/layout.ts
  runtime/nats/connection/ < limits/
  runtime/nats/messages/ < nats/layout.ts nats/connection/
  runtime/nats/copy/ < nats/layout.ts nats/connection/
  runtime/nats/streams/ < limits/ json/ config/settings/ nats/layout.ts nats/connection/ nats/messages/
  runtime/nats/store/
  runtime/nats/child/ < nats/connection/ nats/store/
  runtime/nats/monitor/ < limits/ network/ nats/store/
  runtime/stores/store-error.ts
  runtime/stores/limits/ < limits/ stores/store-error.ts
  runtime/stores/store-secrets.ts < crds/
  runtime/stores/prometheus/ < api/ crds/ network/ json/ stores/store-error.ts stores/limits/ stores/store-secrets.ts
  runtime/stores/authorization/ <
      crds/ limits/ json/ stores/store-error.ts stores/limits/ stores/store-secrets.ts stores/prometheus/
  runtime/stores/peer/ <
      crds/ json/ stores/store-error.ts stores/store-secrets.ts stores/prometheus/ stores/authorization/
  runtime/stores/store-connection.ts <
      limits/ crds/ stores/store-error.ts stores/store-secrets.ts stores/prometheus/ stores/authorization/ stores/peer/
  runtime/stores/store.ts <
      crds/ stores/store-error.ts stores/limits/ stores/store-secrets.ts stores/prometheus/ stores/peer/
      stores/store-connection.ts
  runtime/stores/read-middleware.ts < tracing/ stores/store-error.ts stores/limits/ stores/prometheus/ stores/store.ts
  runtime/webhooks/ids.ts
  runtime/webhooks/log.ts
  runtime/webhooks/events/ < api/ crds/ errors/ json/ config/settings/ webhooks/ids.ts
  runtime/webhooks/signing/ < crds/
  runtime/recipient/ < crds/ network/ webhooks/signing/
  runtime/webhooks/settlement/ < crds/
  runtime/webhooks/sending/ < crds/ network/ limits/ webhooks/settlement/
  runtime/webhooks/partners/ <
      crds/ json/ nats/connection/ nats/streams/ webhooks/ids.ts webhooks/log.ts webhooks/events/ webhooks/signing/
      webhooks/settlement/ webhooks/sending/
  runtime/webhooks/authorization/ <
      crds/ limits/ json/ webhooks/signing/ webhooks/settlement/ webhooks/sending/ webhooks/partners/
  runtime/webhooks/records/ <
      api/ crds/ json/ nats/layout.ts nats/messages/ nats/streams/ webhooks/ids.ts webhooks/events/ webhooks/signing/
      webhooks/settlement/ webhooks/partners/
  runtime/webhooks/telemetry/ < limits/ crds/ tracing/ webhooks/settlement/ webhooks/records/
  runtime/webhooks/ingest/ <
      api/ crds/ limits/ errors/ json/ config/settings/ nats/layout.ts nats/connection/ nats/messages/ nats/streams/
      webhooks/ids.ts webhooks/log.ts webhooks/events/ webhooks/records/ webhooks/telemetry/
  runtime/webhooks/delivery/ <
      api/ limits/ nats/layout.ts nats/connection/ nats/messages/ nats/streams/ webhooks/ids.ts webhooks/log.ts
      webhooks/events/ webhooks/signing/ webhooks/settlement/ webhooks/sending/ webhooks/partners/
      webhooks/authorization/ webhooks/records/ webhooks/telemetry/
  runtime/webhooks/workers/ <
      limits/ pods/ nats/layout.ts nats/connection/ nats/messages/ nats/streams/ webhooks/log.ts webhooks/settlement/
      webhooks/partners/ webhooks/records/ webhooks/delivery/
  runtime/webhooks/routing/ <
      nats/connection/ nats/messages/ nats/streams/ webhooks/ids.ts webhooks/log.ts webhooks/settlement/
      webhooks/events/ webhooks/partners/ webhooks/records/ webhooks/delivery/ webhooks/workers/
  runtime/webhooks/event-index/ <
      limits/ json/ nats/layout.ts nats/messages/ nats/streams/ webhooks/events/ webhooks/records/
  runtime/webhooks/history/ <
      api/ limits/ crds/ errors/ nats/layout.ts nats/messages/ nats/streams/ webhooks/ids.ts webhooks/events/
      webhooks/signing/ webhooks/settlement/ webhooks/partners/ webhooks/records/ webhooks/event-index/
  runtime/webhooks/replay/ <
      api/ limits/ errors/ nats/connection/ nats/messages/ nats/streams/ webhooks/ids.ts webhooks/log.ts
      webhooks/events/ webhooks/signing/ webhooks/settlement/ webhooks/partners/ webhooks/authorization/
      webhooks/records/ webhooks/delivery/ webhooks/history/
  runtime/webhooks/live/ <
      api/ limits/ pods/ errors/ nats/messages/ webhooks/settlement/ webhooks/partners/ webhooks/event-index/
      webhooks/history/
  runtime/webhooks/ping/ <
      api/ limits/ errors/ nats/connection/ nats/streams/ webhooks/ids.ts webhooks/events/ webhooks/partners/
      webhooks/records/ webhooks/routing/ webhooks/history/ webhooks/replay/
  runtime/webhooks/maintenance/ <
      limits/ config/settings/ nats/layout.ts nats/connection/ nats/messages/ nats/streams/ webhooks/log.ts
      webhooks/settlement/ webhooks/partners/ webhooks/records/ webhooks/telemetry/ webhooks/delivery/
      webhooks/workers/ webhooks/routing/ webhooks/live/ webhooks/event-index/
  runtime/webhooks/engine-context.ts <
      crds/ limits/ tracing/ config/settings/ nats/layout.ts nats/connection/ nats/messages/ nats/streams/
      webhooks/log.ts
      webhooks/sending/ webhooks/partners/ webhooks/authorization/ webhooks/telemetry/ webhooks/delivery/
      webhooks/routing/ webhooks/event-index/ webhooks/history/ webhooks/replay/ webhooks/live/
  runtime/webhooks/engine.ts <
      crds/ pods/ nats/layout.ts nats/streams/ webhooks/signing/
      webhooks/partners/ webhooks/authorization/ webhooks/ingest/ webhooks/workers/ webhooks/routing/
      webhooks/history/ webhooks/replay/ webhooks/live/ webhooks/ping/ webhooks/maintenance/
      webhooks/engine-context.ts
  runtime/metrics/request/ < api/ crds/ errors/ json/
  runtime/metrics/catalog-index.ts < crds/
  runtime/metrics/authorization/ < crds/ errors/ metrics/request/ metrics/catalog-index.ts
  runtime/metrics/metrics-api.ts < api/ crds/ tracing/ errors/ metrics/request/ metrics/authorization/
  runtime/metrics/promql/ < api/ crds/ errors/ stores/prometheus/
  runtime/metrics/planning/ <
      api/ crds/ errors/ stores/prometheus/ metrics/request/ metrics/catalog-index.ts metrics/authorization/
      metrics/promql/
  runtime/metrics/merge/ < api/ errors/ stores/prometheus/ metrics/promql/ metrics/planning/
  runtime/metrics/cache/ <
      limits/ pods/ stores/store-error.ts stores/limits/ stores/prometheus/ stores/store.ts metrics/request/
      metrics/planning/
  runtime/metrics/reads/ <
      api/ limits/ crds/ tracing/ errors/ stores/store-error.ts stores/limits/ stores/prometheus/ stores/store.ts
      stores/read-middleware.ts metrics/request/ metrics/authorization/ metrics/promql/ metrics/planning/
      metrics/merge/ metrics/cache/
  runtime/metrics/admission/ <
      crds/ limits/ pods/ errors/ metrics/request/ metrics/authorization/ metrics/planning/ metrics/reads/
  runtime/metrics/response/ <
      api/ limits/ crds/ errors/ stores/prometheus/ metrics/request/ metrics/catalog-index.ts metrics/authorization/
      metrics/metrics-api.ts metrics/promql/ metrics/planning/ metrics/merge/ metrics/cache/ metrics/reads/
      metrics/admission/
  runtime/metrics/query-log/ <
      api/ crds/ pods/ errors/ metrics/request/ metrics/catalog-index.ts metrics/authorization/ metrics/metrics-api.ts
      metrics/planning/
  runtime/metrics/explain/ <
      api/ crds/ errors/ stores/store.ts metrics/request/ metrics/authorization/ metrics/metrics-api.ts
      metrics/promql/ metrics/planning/ metrics/cache/ metrics/reads/ metrics/admission/ metrics/response/
  runtime/metrics/handle-query.ts <
      errors/ metrics/request/ metrics/authorization/ metrics/metrics-api.ts metrics/planning/ metrics/reads/
      metrics/admission/ metrics/response/ metrics/query-log/ metrics/explain/
  runtime/metrics/selectors/ <
      api/ crds/ errors/ stores/limits/ stores/read-middleware.ts metrics/request/ metrics/catalog-index.ts
      metrics/authorization/ metrics/metrics-api.ts metrics/planning/ metrics/reads/ metrics/admission/
      metrics/response/ metrics/handle-query.ts
  runtime/metrics/slo/ <
      api/ limits/ crds/ errors/ stores/store-error.ts stores/limits/ stores/prometheus/ stores/store.ts
      stores/read-middleware.ts metrics/request/ metrics/catalog-index.ts metrics/authorization/
      metrics/metrics-api.ts metrics/promql/ metrics/planning/ metrics/merge/ metrics/cache/ metrics/reads/
      metrics/admission/ metrics/response/
  runtime/metrics/federation/ <
      api/ crds/ errors/ json/ stores/store-error.ts stores/limits/ stores/prometheus/ stores/peer/ stores/store.ts
      metrics/request/ metrics/catalog-index.ts metrics/authorization/ metrics/metrics-api.ts metrics/promql/
      metrics/planning/ metrics/merge/ metrics/cache/ metrics/reads/ metrics/slo/
  runtime/metrics/usage/ <
      api/ crds/ limits/ pods/ errors/ metrics/request/ metrics/catalog-index.ts metrics/authorization/
      metrics/metrics-api.ts metrics/planning/ metrics/admission/
  runtime/metrics/observed/ <
      api/ crds/ pods/ stores/store-error.ts stores/limits/ stores/prometheus/ stores/store.ts metrics/request/
      metrics/catalog-index.ts metrics/authorization/ metrics/metrics-api.ts metrics/promql/ metrics/planning/
  runtime/metrics/api/ <
      api/ limits/ crds/ tracing/ pods/ errors/ stores/limits/ stores/store.ts stores/store-secrets.ts
      stores/read-middleware.ts metrics/request/ metrics/catalog-index.ts metrics/authorization/ metrics/metrics-api.ts
      metrics/promql/ metrics/planning/ metrics/cache/ metrics/reads/ metrics/admission/ metrics/response/
      metrics/query-log/ metrics/explain/ metrics/handle-query.ts metrics/selectors/ metrics/slo/ metrics/federation/
      metrics/usage/ metrics/observed/
  runtime/prometheus/language/ < errors/
  runtime/prometheus/compile/ < crds/ errors/ metrics/request/ prometheus/language/
  runtime/prometheus/evaluate/ <
      limits/ errors/ metrics/request/ metrics/planning/ prometheus/language/ prometheus/compile/
  runtime/prometheus/ <
      api/ limits/ crds/ errors/ version.ts metrics/request/ metrics/catalog-index.ts metrics/authorization/
      metrics/metrics-api.ts metrics/slo/ prometheus/language/ prometheus/compile/ prometheus/evaluate/
  runtime/preview/ <
      api/ limits/ crds/ pods/ errors/ json/ config/yaml/ nats/layout.ts nats/connection/ nats/messages/ nats/streams/
      webhooks/ids.ts webhooks/log.ts webhooks/events/ webhooks/settlement/ webhooks/partners/ webhooks/records/
      webhooks/history/ webhooks/replay/ metrics/metrics-api.ts
  runtime/http/authentication/ < crds/ network/ limits/ errors/ config/settings/ metrics/authorization/
  runtime/http/representation/ < api/ errors/ metrics/request/
  runtime/http/openapi/ < api/ metrics/request/
  runtime/http/server/ <
      api/ limits/ crds/ tracing/ errors/ config/settings/ metrics/request/ metrics/authorization/
      metrics/metrics-api.ts http/authentication/ http/representation/ http/openapi/
  runtime/http/routes/ <
      api/ errors/ config/settings/ webhooks/signing/ webhooks/ingest/ webhooks/history/ webhooks/replay/
      webhooks/live/ webhooks/ping/ metrics/request/ metrics/authorization/ metrics/metrics-api.ts metrics/federation/
      prometheus/compile/ prometheus/ preview/ http/representation/ http/openapi/ http/server/
  runtime/migration/ < kube/ config/kubernetes/ nats/layout.ts nats/connection/ nats/copy/ nats/streams/
  runtime/program/ <
      limits/ crds/ kube/ tracing/ version.ts config/settings/ config/config-source.ts config/folder/
      config/kubernetes/ nats/layout.ts nats/connection/ nats/messages/ nats/streams/ nats/child/ webhooks/settlement/
      webhooks/partners/ webhooks/workers/ webhooks/engine.ts metrics/metrics-api.ts metrics/api/ prometheus/ preview/
      http/authentication/ http/server/ http/routes/
  runtime/debug/ < limits/ network/ nats/connection/ nats/streams/ webhooks/events/
  demo/ < nats/child/ recipient/
  cli/command-line/ < limits/ program/
  cli/operator/ <
      crds/ kube/ prometheus/ operator/inventory/ operator/version.ts operator/options.ts operator/rules/
      operator/start-error.ts operator/main.ts cli/command-line/
  cli/api/ < api/ limits/ network/ kube/ version.ts program/ cli/command-line/
  cli/configuration/ <
      api/ crds/ kube/ version.ts config/yaml/ config/folder/ metrics/request/ metrics/metrics-api.ts metrics/api/
      prometheus/ preview/ program/ debug/ cli/command-line/ cli/api/
  cli/metrics/ < api/ crds/ metrics/request/ cli/command-line/ cli/api/ cli/configuration/
  cli/webhooks/ <
      api/ crds/ json/ webhooks/events/ webhooks/history/ metrics/request/ cli/command-line/ cli/api/ cli/configuration/
  cli/partner/ <
      api/ crds/ version.ts webhooks/events/ webhooks/signing/ recipient/ webhooks/settlement/ webhooks/sending/
      cli/command-line/ cli/api/ cli/webhooks/
  cli/serving/ <
      limits/ crds/ kube/ version.ts nats/connection/ metrics/request/ http/authentication/ migration/ program/
      debug/ demo/ cli/command-line/ cli/api/
  cli/ <
      errors/ version.ts nats/monitor/ program/ cli/command-line/ cli/api/ cli/configuration/ cli/metrics/
      cli/webhooks/ cli/partner/ cli/serving/
`;

const isOutside = /^(?:api|cli|crds|demo|kube|limits|network|operator)\//u;

/** Each room with those that it may import, in the order of the table. */
export const rooms: ReadonlyMap<string, readonly string[]> = new Map(
  table
    .trim()
    .split(/\n(?= {2}\S)/u)
    .map((row) => {
      const [room = "", allowed = ""] = row.split("<");
      const names = allowed.split(/\s+/u).filter((name) => name !== "");
      return [room.trim(), names.map((name) => (isOutside.test(name) ? name : `runtime/${name}`))];
    }),
);

/** The room that a file belongs to, or undefined when it has none. */
export function roomOf(file: string): string | undefined {
  const found = [...rooms.keys()].filter((room) => file === room || (room.endsWith("/") && file.startsWith(room)));
  return found.sort((a, b) => b.length - a.length)[0];
}
