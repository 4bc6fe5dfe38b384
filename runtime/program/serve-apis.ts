import { hash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import type { Settings } from "../config/settings/settings.ts";
import { createAuthenticate } from "../http/authentication/authenticate.ts";
import { createAddressReader, createCertificateReader } from "../http/authentication/client-certificate.ts";
import { KeySource, loadKeys, namedIssuer } from "../http/authentication/key-source.ts";
import { consoleCodings, type ConsoleFile, type ConsoleFiles, consoleRoutes } from "../http/routes/console.ts";
import { eventRoutes } from "../http/routes/events.ts";
import { type ConfiguredNames, meRoute } from "../http/routes/me.ts";
import { metricsRoutes } from "../http/routes/metrics.ts";
import { peerRoutes } from "../http/routes/peers.ts";
import { previewRoutes } from "../http/routes/preview.ts";
import { prometheusRoutes } from "../http/routes/prometheus.ts";
import { schemaRoutes } from "../http/routes/schemas.ts";
import { statusRoutes } from "../http/routes/status.ts";
import { webhookRoutes } from "../http/routes/webhooks.ts";
import { type AdminServerOptions, createAdminServer, type PartHealth } from "../http/server/admin-server.ts";
import { listenServer, stopServer } from "../http/server/listen-server.ts";
import { createPublicServer } from "../http/server/public-server.ts";
import type { Route } from "../http/server/route.ts";
import { openTlsFiles } from "../http/server/tls-files.ts";
import { createPrometheusApi } from "../prometheus/create-prometheus-api.ts";
import { openMetricsText, plainText } from "../tracing/open-metrics.ts";
import { version } from "../version.ts";
import type { ProgramContext } from "./program-plan.ts";
import type { Engines } from "./start-engines.ts";
import { startStep } from "./start-error.ts";
import { healthOf, registerHealthMetrics } from "./status.ts";
import type { RuntimeConfig } from "../../crds/config.ts";

/** In a checkout, in the image and in the npm package. */
const builtFolder = fileURLToPath(new URL("../../dist/console", import.meta.url));

const filesMax = 512;
const totalBytesMax = 16 * 1024 * 1024;
const tagLength = 22;

/** Endings of the files that the build writes next to each file. */
const endings = { br: ".br", gzip: ".gz" } as const satisfies Record<(typeof consoleCodings)[number], string>;

const mediaTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".md": "text/plain; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

/** Opens the admin port: health, metrics and `/configz`. Resolves with its URL. @throws StartError `port` */
export async function serveAdmin(context: ProgramContext): Promise<string> {
  const { plan, registry, observe, status, reporter, shutdown } = context;
  const health = (): readonly PartHealth[] => healthOf(status);
  registerHealthMetrics(registry, health);
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
    registry: { contentType, metrics: () => plainText(registry) },
    openMetrics: () => openMetricsText(registry),
  };
}

/** Opens the public port with all routes. Resolves with its URL. @throws StartError `port`, `settings` */
export async function servePublic(context: ProgramContext, { engine, metrics, previews }: Engines): Promise<string> {
  const { plan, settings, prepared, observe, shutdown, status, expirations } = context;
  const log = plan.log.child({ server: "public" });
  const issuers = await startStep("settings", "the name of an issuer cannot be read from its jwksTokenFile", () =>
    Promise.all(settings.issuers.map(namedIssuer)),
  );
  warnOfBearerTokens(log, { ...settings, issuers });
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
  const names = createConfiguredNames(() => status.applied?.state.config);
  const routes = [
    meRoute({ version, partnersClaim: settings.partnersClaim, names }),
    ...eventRoutes(engine, settings.partnersClaim),
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
  if (issuers.length > 0) log.warn({ issuers }, "tokens of these issuers are bearer tokens without binding");
}

/** The routes of the console; none if the settings turn it off. A console that is not built stops no start. */
async function openConsole({ plan, settings, prepared }: ProgramContext): Promise<readonly Route[]> {
  if (!settings.console.enabled) return [];
  const files = await readConsoleFiles(builtFolder).catch((error: unknown) => {
    plan.log.warn({ err: error, folder: builtFolder }, "files of the console not readable");
    return undefined;
  });
  const { proveOrigin, bindToKey } = prepared.issuers.find((issuer) => issuer.proveOrigin !== undefined) ?? {};
  const { dataFolder, configFolder } = prepared;
  const isLocal = proveOrigin !== undefined && bindToKey !== undefined && dataFolder !== undefined;
  const program = configFolder?.program ?? "heliograph";
  const local = isLocal ? { proveOrigin, bindToKey, dataFolder, program } : undefined;
  return consoleRoutes({ files, settings: settings.console, local, version });
}

/**
 * The files of a built console with the codings that the build wrote next to them. Links are left out.
 * @returns undefined when there is no such folder
 * @throws Error when it holds too much, or cannot be read
 */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles | undefined> {
  const names = await namesIn(folder);
  if (names === undefined) return undefined;
  if (names.length > filesMax) throw new Error(`${folder} holds more than ${filesMax} files`);
  let bytes = 0;
  for (const name of names) bytes += (await stat(join(folder, name))).size;
  if (bytes > totalBytesMax) throw new Error(`${folder} holds more than ${totalBytesMax} bytes`);
  const codedNames = new Set(names.flatMap((name) => Object.values(endings).map((ending) => name + ending)));
  const files = names
    .filter((name) => !codedNames.has(name))
    .map(async (name): Promise<readonly [string, ConsoleFile]> => [name, await fileOf(folder, name, names)]);
  return new Map(await Promise.all(files));
}

async function namesIn(folder: string): Promise<readonly string[] | undefined> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function fileOf(folder: string, name: string, names: readonly string[]): Promise<ConsoleFile> {
  const codings = [
    ["identity", name] as const,
    ...consoleCodings.map((coding) => [coding, name + endings[coding]] as const),
  ];
  const present = codings.filter(([, path]) => names.includes(path));
  const read = present.map(async ([coding, path]) => {
    const bytes = await readFile(join(folder, path));
    return [coding, { bytes, etag: `"${hash("sha256", bytes, "base64url").slice(0, tagLength)}"` }] as const;
  });
  return {
    mediaType: mediaTypes[extname(name)] ?? "application/octet-stream",
    codings: new Map(await Promise.all(read)),
  };
}

/** Matches every tenant, and events without one. */
const noNames = new Set(["*", "-"]);

type NamedConfig = Pick<RuntimeConfig, "partners" | "catalogs" | "quotas">;

/**
 * Names in the applied configuration, for filters, computed once for each.
 * @param current undefined before the first configuration
 */
export function createConfiguredNames(current: () => NamedConfig | undefined): () => ConfiguredNames | undefined {
  const known = new WeakMap<object, ConfiguredNames>();
  return () => {
    const config = current();
    if (config === undefined) return undefined;
    const names = known.get(config) ?? configuredNames(config);
    known.set(config, names);
    return names;
  };
}

function configuredNames({ partners, catalogs, quotas }: NamedConfig): ConfiguredNames {
  const stores = catalogs.flatMap((catalog) => catalog.stores);
  // An older operator compiles catalogs without objectives.
  const objectives = catalogs.flatMap(({ slos = [] }: Partial<(typeof catalogs)[number]>) => slos);
  const clients = quotas.flatMap((quota) => quota.clients);
  const sorted = (names: readonly string[]): readonly string[] =>
    [...new Set(names)].filter((name) => !noNames.has(name)).sort();
  return {
    regions: sorted(stores.map(({ region }) => region)),
    environments: sorted(stores.flatMap(({ environment }) => environment ?? [])),
    metricTenants: sorted([
      ...objectives.flatMap(({ publicTenants }) => publicTenants ?? []),
      ...clients.flatMap(({ tenants }) => tenants ?? []),
    ]),
    partnerTenants: new Map(
      partners.map(({ namespace, name, subscriptions }) => {
        return [`${namespace}/${name}`, sorted(subscriptions.flatMap(({ tenants }) => tenants ?? []))] as const;
      }),
    ),
  };
}
