import type { Logger } from "pino";
import { Registry } from "prom-client";
import { metricsOf, openMetricsText, plainText } from "../tracing/open-metrics.ts";
import type { Settings } from "../config/settings/settings.ts";
import { createAuthenticate } from "../http/authentication/authenticate.ts";
import { createCertificateReader } from "../http/authentication/client-certificate.ts";
import { createAddressReader } from "../http/authentication/client-address.ts";
import { KeySource } from "../http/authentication/key-source.ts";
import { loadKeys, namedIssuer } from "../http/authentication/load-keys.ts";
import { eventRoutes } from "../http/routes/events.ts";
import { meRoute } from "../http/routes/me.ts";
import { metricsRoutes } from "../http/routes/metrics.ts";
import { peerRoutes } from "../http/routes/peers.ts";
import { previewRoutes } from "../http/routes/preview.ts";
import { prometheusRoutes } from "../http/routes/prometheus.ts";
import { schemaRoutes } from "../http/routes/schemas.ts";
import { statusRoutes } from "../http/routes/status.ts";
import { webhookRoutes } from "../http/routes/webhooks.ts";
import { createAdminServer, type AdminServerOptions, type PartHealth } from "../http/server/admin-server.ts";
import { listenServer } from "../http/server/listen-server.ts";
import { createPublicServer } from "../http/server/public-server.ts";
import { stopServer } from "../http/server/stop-server.ts";
import { openTlsFiles } from "../http/server/tls-files.ts";
import { registerHealthMetrics } from "./health-metrics.ts";
import { openConsole } from "./open-console.ts";
import { logsForPod, type ProgramContext } from "./program-plan.ts";
import type { Engines } from "./start-engines.ts";
import { createPrometheusApi } from "../prometheus/create-prometheus-api.ts";
import { startStep } from "./start-error.ts";
import { healthOf } from "./status.ts";
import { version } from "../version.ts";

/** Opens the admin port: health, metrics and `/configz`. Resolves with its URL. @throws StartError `port` */
export async function serveAdmin(context: ProgramContext): Promise<string> {
  const { plan, registry, observe, status, reporter, shutdown } = context;
  const health = (): readonly PartHealth[] => healthOf(status);
  registerHealthMetrics(registry, () => {
    const parts = health();
    return { isReady: parts.every(({ ok }) => ok), parts };
  });
  const app = createAdminServer({
    log: plan.log.child({ server: "admin" }, { level: "warn" }),
    observe,
    ...metricTexts(registry, plan.tracing !== undefined),
    health,
    config: reporter,
  });
  shutdown.add("admin server", (remainingMs) => stopServer(app, remainingMs));
  return startStep("port", "the admin port cannot be opened", () => listenServer(app, plan.host, plan.adminPort));
}

/** The texts of `/metrics`. A registry with exemplars is read as JSON only. */
function metricTexts(registry: Registry, hasExemplars: boolean): Pick<AdminServerOptions, "registry" | "openMetrics"> {
  if (!hasExemplars) return { registry };
  const { PROMETHEUS_CONTENT_TYPE: contentType } = Registry;
  return {
    registry: { contentType, metrics: async () => plainText(await metricsOf(registry)) },
    openMetrics: async () => openMetricsText(await metricsOf(registry)),
  };
}

/** Opens the public port with all routes. Resolves with its URL. @throws StartError `port`, `settings` */
export async function servePublic(context: ProgramContext, { engine, metrics, previews }: Engines): Promise<string> {
  const { plan, settings, prepared, observe, shutdown, status, expirations } = context;
  const log = plan.log.child({ server: "public" });
  const issuers = await startStep("settings", "the name of an issuer cannot be read from its jwksTokenFile", () =>
    Promise.all(settings.issuers.map(namedIssuer)),
  );
  if (logsForPod(plan.member)) warnOfBearerTokens(log, { ...settings, issuers });
  const { tls } = settings;
  const files =
    tls && (await startStep("settings", "the tls files of the settings cannot be used", () => openTlsFiles(tls)));
  expirations.addFiles([
    { kind: "server", path: tls?.certFile },
    { kind: "client_ca", path: tls?.clientCaFile },
  ]);
  const configured = issuers.map((issuer) => ({
    settings: issuer,
    keys: new KeySource(() => loadKeys(issuer)),
  }));
  const routes = [
    meRoute({ version, partnersClaim: settings.partnersClaim }),
    ...eventRoutes(engine),
    ...webhookRoutes(engine, settings.partnersClaim),
    ...metricsRoutes(metrics),
    ...statusRoutes(metrics),
    ...prometheusRoutes(createPrometheusApi(metrics)),
    ...peerRoutes(metrics),
    ...previewRoutes(previews, settings.partnersClaim),
    ...(await openConsole(context)),
  ];
  const app = createPublicServer({
    log,
    observe,
    authenticate: createAuthenticate([...prepared.issuers, ...configured], settings.claims, Date.now, settings),
    readCertificate: createCertificateReader(settings),
    readAddress: createAddressReader(settings),
    ...(files === undefined ? {} : { tls: files.options }),
    routes: [...routes, ...schemaRoutes(routes)],
    now: Date.now,
    repeatBytes: plan.caches.repeats,
    isEnding: () => status.draining,
  });
  shutdown.add("public server", (remainingMs) => stopServer(app, remainingMs));
  shutdown.add("waiting requests", () => engine.history.endWaits());
  if (files !== undefined) shutdown.add("certificates", files.follow(app.server, log));
  return startStep("port", "the port cannot be opened", () => listenServer(app, plan.host, plan.port));
}

function warnOfBearerTokens(log: Logger, settings: Settings): void {
  const issuers = settings.issuers
    .filter(({ tokenBinding = settings.tokenBinding }) => tokenBinding === "None")
    .map(({ issuer }) => issuer);
  if (issuers.length > 0) log.warn({ issuers }, "tokens of these issuers are bearer tokens without a binding");
}
