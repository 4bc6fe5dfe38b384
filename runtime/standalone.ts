import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { hostname } from "node:os";
import type { Logger } from "pino";
import { collectDefaultMetrics, Registry } from "prom-client";
import { allowAll } from "../crds/policy.ts";
import { Closing } from "./closing.ts";
import { FolderSource, type FolderState } from "./config/folder.ts";
import { retentionFaults } from "./config/retention.ts";
import type { Settings } from "./config/settings.ts";
import { lockDataFolder } from "./data-lock.ts";
import { followFolder } from "./follow-folder.ts";
import { createAdminServer, type ConfigReport, type PartHealth } from "./http/admin-server.ts";
import { createAuthenticate, type Authenticate } from "./http/authenticate.ts";
import { devIssuerName, openDevIssuer } from "./http/dev-issuer.ts";
import { KeySource } from "./http/key-source.ts";
import { listenServer } from "./http/listen-server.ts";
import { loadKeys } from "./http/load-keys.ts";
import { createPublicServer } from "./http/public-server.ts";
import { createRequestMetrics, type RequestOutcome } from "./http/request-metrics.ts";
import { eventRoutes } from "./http/routes/events.ts";
import { metricsRoutes } from "./http/routes/metrics.ts";
import { webhookRoutes } from "./http/routes/webhooks.ts";
import { stopServer } from "./http/stop-server.ts";
import { createMetricsApi } from "./metrics/create-metrics-api.ts";
import type { MetricsApi } from "./metrics/metrics-api.ts";
import { natsAccessOf } from "./nats-url.ts";
import { startChildServer } from "./nats/child-server.ts";
import { connectNats, type NatsAccess, type NatsConnectionHandle } from "./nats/connect.ts";
import { readSettingsFile } from "./settings-file.ts";
import { StartError, startStep } from "./start-error.ts";
import { version } from "./version.ts";
import { createWebhookEngine, type WebhookEngine } from "./webhooks/engine.ts";

export interface StandaloneOptions {
  /** Folder of the configuration. */
  readonly folder: string;
  /** Folder of everything that is kept. */
  readonly dataFolder: string;
  /** Address that both ports are opened on. */
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** 0 picks a free one. */
  readonly adminPort: number;
  /** NATS to use instead of a child nats-server. */
  readonly natsUrl?: string;
  /** The nats-server program for the child. @default the first on PATH */
  readonly natsServer?: string;
  readonly settingsFile?: string;
  readonly log: Logger;
}

/** The whole program in one process, ready. */
export interface Standalone {
  readonly url: string;
  readonly adminUrl: string;
  readonly natsUrl: string;
  /** Of the configuration obeyed at the start. */
  readonly configHash: string;
  /** Takes nothing new, lets what is under way end within the bound, and closes everything. Runs once. */
  stop(drainMs: number): Promise<void>;
}

/** Bound on closing what a start that failed had opened. */
const failedStartDrainMs = 5000;

/** What the parts of a running program share. */
interface Setting {
  readonly options: StandaloneOptions;
  readonly settings: Settings;
  readonly source: FolderSource;
  /** What the folder said when the start began. */
  readonly initial: FolderState;
  readonly closing: Closing;
  readonly registry: Registry;
  readonly observe: (outcome: RequestOutcome) => void;
  readonly status: Status;
}

/** What health and readiness are told from; parts appear as they start. */
interface Status {
  applied: { readonly state: FolderState; readonly at: Date } | undefined;
  nats: NatsConnectionHandle | undefined;
  engine: WebhookEngine | undefined;
  draining: boolean;
}

/**
 * Runs the whole product on one folder of configuration: the same `compile`, runtime and API as in a cluster, with a
 * nats-server and a development issuer of its own. Resolves when it is ready.
 * @throws StartError in a sentence for people
 */
export async function startStandalone(options: StandaloneOptions): Promise<Standalone> {
  const closing = new Closing(options.log);
  try {
    return await startParts(options, closing);
  } catch (error) {
    await closing.run(failedStartDrainMs);
    throw error;
  }
}

async function startParts(options: StandaloneOptions, closing: Closing): Promise<Standalone> {
  const settings = await readSettingsFile(options.settingsFile);
  const source = await openFolder(options, closing);
  const initial = source.current();
  refuseForgetfulStreams(settings, initial);
  await lockData(options, closing);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const observe = createRequestMetrics(registry);
  const status: Status = { applied: undefined, nats: undefined, engine: undefined, draining: false };
  const setting: Setting = { options, settings, source, initial, closing, registry, observe, status };
  const adminUrl = await serveAdmin(setting);
  const { natsUrl, engine, metrics } = await startEngines(setting);
  const url = await servePublic(setting, engine, metrics);
  follow(setting, engine, metrics);
  return {
    url,
    adminUrl,
    natsUrl,
    configHash: initial.hash,
    stop: (drainMs) => {
      status.draining = true;
      return closing.run(drainMs);
    },
  };
}

async function openFolder({ folder }: StandaloneOptions, closing: Closing): Promise<FolderSource> {
  const open = () => FolderSource.open(folder, { policy: allowAll });
  const source = await startStep("folder", `the folder ${folder} cannot be read`, open);
  closing.add("folder", () => source.stop());
  return source;
}

function refuseForgetfulStreams({ streams }: Settings, { config }: FolderState): void {
  const [fault] = retentionFaults(streams, config);
  if (fault !== undefined) throw new StartError("settings", `the settings forget too soon: ${fault}`);
}

async function lockData({ dataFolder }: StandaloneOptions, closing: Closing): Promise<void> {
  const lock = await startStep("data", `the data folder ${dataFolder} cannot be used`, () => lockDataFolder(dataFolder));
  if (lock === undefined) throw new StartError("locked", `the data folder ${dataFolder} is in use by another program`);
  closing.add("data folder", () => lock.release());
}

async function serveAdmin(setting: Setting): Promise<string> {
  const { options, registry, observe, status, closing } = setting;
  const app = createAdminServer({
    log: options.log.child({ server: "admin" }, { level: "warn" }),
    observe,
    registry,
    health: () => healthOf(status),
    config: () => reportOf(status),
  });
  closing.add("admin server", (remainingMs) => stopServer(app, remainingMs));
  return startStep("port", "the admin port cannot be opened", () => listenServer(app, options.host, options.adminPort));
}

function healthOf({ applied, nats, engine, draining }: Status): readonly PartHealth[] {
  const part = (name: string, ok: boolean, detail: string): PartHealth => ({ name, ok, ...(ok ? {} : { detail }) });
  const webhooks = engine?.health() ?? { ok: false, detail: "not started" };
  return [
    part("process", !draining, "draining"),
    part("config", applied !== undefined, "not applied"),
    part("nats", nats?.isConnected() === true, "not connected"),
    part("webhooks", webhooks.ok, webhooks.detail ?? "not well"),
  ];
}

function reportOf({ applied }: Status): ConfigReport | undefined {
  if (applied === undefined) return undefined;
  const { hash, config, problems } = applied.state;
  const { partners, catalogs, quotas } = config;
  const counts = { partners: partners.length, catalogs: catalogs.length, quotas: quotas.length };
  return { hash, appliedAt: applied.at.toISOString(), ...counts, problems: problems.length };
}

interface Engines {
  readonly natsUrl: string;
  readonly engine: WebhookEngine;
  readonly metrics: MetricsApi;
}

async function startEngines(setting: Setting): Promise<Engines> {
  const { options, settings, initial, closing, registry, status } = setting;
  const { log } = options;
  const access = options.natsUrl === undefined ? await startNats(setting) : natsAccessOf(options.natsUrl);
  const nats = await startStep("nats", "NATS cannot be used", () => connectNats(access));
  closing.add("NATS connection", () => nats.drain());
  status.nats = nats;
  const { config } = initial;
  const podId = await podIdOf(options.dataFolder);
  const engine = await startStep("nats", "NATS cannot be used", () =>
    createWebhookEngine({ nats, settings, config, log, registry, podId, version }),
  );
  closing.add("webhooks", (remainingMs) => engine.stop(remainingMs));
  status.engine = engine;
  const metrics = createMetricsApi({ config, log, registry });
  closing.add("metrics", () => metrics.stop());
  status.applied = { state: initial, at: new Date() };
  return { natsUrl: access.servers.join(","), engine, metrics };
}

async function startNats({ options, closing }: Setting): Promise<NatsAccess> {
  const { natsServer, dataFolder, log } = options;
  const environment = natsServer === undefined ? process.env : { HELIOGRAPH_NATS_SERVER: natsServer };
  const start = () => startChildServer({ dataFolder, log, environment });
  const child = await startStep("nats_server", "the nats-server cannot be started", start);
  closing.add("nats-server", () => child.stop());
  return child.access;
}

/** The same for every run on one data folder, so that a program that comes back is at once the home of its lanes. */
async function podIdOf(dataFolder: string): Promise<string> {
  const place = `${hostname()}:${await realpath(dataFolder)}`;
  return `standalone-${createHash("sha256").update(place).digest("hex").slice(0, 16)}`;
}

function follow({ options, settings, source, initial, closing, status }: Setting, engine: WebhookEngine, metrics: MetricsApi): void {
  const apply = (state: FolderState): void => {
    engine.apply(state.config);
    metrics.apply(state.config);
    status.applied = { state, at: new Date() };
  };
  const end = followFolder({ source, initial, streams: settings.streams, apply, log: options.log });
  closing.add("configuration", end);
}

async function servePublic(setting: Setting, engine: WebhookEngine, metrics: MetricsApi): Promise<string> {
  const { options, observe, closing } = setting;
  const app = createPublicServer({
    log: options.log.child({ server: "public" }),
    observe,
    authenticate: await createStandaloneAuthenticate(setting),
    routes: [...eventRoutes(engine), ...webhookRoutes(engine), ...metricsRoutes(metrics)],
    now: Date.now,
  });
  closing.add("public server", (remainingMs) => stopServer(app, remainingMs));
  return startStep("port", "the port cannot be opened", () => listenServer(app, options.host, options.port));
}

async function createStandaloneAuthenticate({ options, settings }: Setting): Promise<Authenticate> {
  const { dataFolder, log } = options;
  const open = () => openDevIssuer(dataFolder, Date.now);
  const development = await startStep("data", `the data folder ${dataFolder} cannot be used`, open);
  log.warn({ issuer: devIssuerName }, "standalone: the local development issuer is trusted, certificate-bound tokens are not asked for");
  const configured = settings.issuers.map((issuer) => ({
    settings: issuer,
    keys: new KeySource(() => loadKeys(issuer), Date.now),
  }));
  return createAuthenticate([development.trusted, ...configured], settings.claims, Date.now);
}
