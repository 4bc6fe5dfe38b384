import type { Logger } from "pino";
import type { Settings } from "../config/settings/settings.ts";
import { createAuthenticate } from "../http/authentication/authenticate.ts";
import { createCertificateReader } from "../http/authentication/client-certificate.ts";
import { createAddressReader } from "../http/authentication/client-address.ts";
import { KeySource } from "../http/authentication/key-source.ts";
import { loadKeys } from "../http/authentication/load-keys.ts";
import { eventRoutes } from "../http/routes/events.ts";
import { metricsRoutes } from "../http/routes/metrics.ts";
import { peerRoutes } from "../http/routes/peers.ts";
import { schemaRoutes } from "../http/routes/schemas.ts";
import { webhookRoutes } from "../http/routes/webhooks.ts";
import { createAdminServer } from "../http/server/admin-server.ts";
import { listenServer } from "../http/server/listen-server.ts";
import { createPublicServer } from "../http/server/public-server.ts";
import { stopServer } from "../http/server/stop-server.ts";
import { openTlsFiles } from "../http/server/tls-files.ts";
import type { ProgramContext } from "./program-plan.ts";
import type { Engines } from "./start-engines.ts";
import { startStep } from "./start-error.ts";
import { healthOf } from "./status.ts";

/** Opens the admin port: health, metrics and `/configz`. Resolves with its URL. @throws StartError `port` */
export async function serveAdmin(context: ProgramContext): Promise<string> {
  const { plan, registry, observe, status, reporter, shutdown } = context;
  const app = createAdminServer({
    log: plan.log.child({ server: "admin" }, { level: "warn" }),
    observe,
    registry,
    health: () => healthOf(status),
    config: reporter,
  });
  shutdown.add("admin server", (remainingMs) => stopServer(app, remainingMs));
  return startStep("port", "the admin port cannot be opened", () => listenServer(app, plan.host, plan.adminPort));
}

/** Opens the public port with all routes. Resolves with its URL. @throws StartError `port`, `settings` */
export async function servePublic(context: ProgramContext, { engine, metrics }: Engines): Promise<string> {
  const { plan, settings, prepared, observe, shutdown, status } = context;
  const log = plan.log.child({ server: "public" });
  warnOfBearerTokens(log, settings);
  const { tls } = settings;
  const files =
    tls && (await startStep("settings", "the tls files of the settings cannot be used", () => openTlsFiles(tls)));
  const configured = settings.issuers.map((issuer) => ({
    settings: issuer,
    keys: new KeySource(() => loadKeys(issuer), Date.now),
  }));
  const routes = [
    ...eventRoutes(engine),
    ...webhookRoutes(engine, settings.partnersClaim),
    ...metricsRoutes(metrics),
    ...peerRoutes(metrics),
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
    isEnding: () => status.draining,
  });
  shutdown.add("public server", (remainingMs) => stopServer(app, remainingMs));
  if (files !== undefined) shutdown.add("certificates", files.follow(app.server, log));
  return startStep("port", "the port cannot be opened", () => listenServer(app, plan.host, plan.port));
}

function warnOfBearerTokens(log: Logger, settings: Settings): void {
  const issuers = settings.issuers
    .filter(({ tokenBinding = settings.tokenBinding }) => tokenBinding === "None")
    .map(({ issuer }) => issuer);
  if (issuers.length > 0) log.warn({ issuers }, "tokens of these issuers are bearer tokens without a binding");
}
