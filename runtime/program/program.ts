import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { RuntimeConfig } from "../../crds/config.ts";
import { Shutdown } from "./shutdown.ts";
import { ConfigReporter } from "./config-report.ts";
import type { ConfigSource, ConfigState } from "../config/config-source.ts";
import type { Settings } from "../config/settings/settings.ts";
import { followConfig, type StateLog } from "./follow-config.ts";
import { createAdminServer } from "../http/server/admin-server.ts";
import { createAuthenticate, type TrustedIssuer } from "../http/authentication/authenticate.ts";
import { createAddressReader } from "../http/authentication/client-address.ts";
import { createCertificateReader } from "../http/authentication/client-certificate.ts";
import { KeySource } from "../http/authentication/key-source.ts";
import { listenServer } from "../http/server/listen-server.ts";
import { loadKeys } from "../http/authentication/load-keys.ts";
import { createPublicServer } from "../http/server/public-server.ts";
import { createRequestMetrics, type RequestOutcome } from "../http/server/request-metrics.ts";
import { eventRoutes } from "../http/routes/events.ts";
import { metricsRoutes } from "../http/routes/metrics.ts";
import { peerRoutes } from "../http/routes/peers.ts";
import { schemaRoutes } from "../http/routes/schemas.ts";
import { webhookRoutes } from "../http/routes/webhooks.ts";
import { stopServer } from "../http/server/stop-server.ts";
import { openTlsFiles, type TlsFiles } from "../http/server/tls-files.ts";
import { createMetricsApi } from "../metrics/create-metrics-api.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import { createCacheStream } from "../nats/streams/cache-stream.ts";
import { connectNats, type NatsAccess, type NatsConnectionHandle } from "../nats/connection/connect.ts";
import { createLayout } from "../nats/layout.ts";
import { createPodMessages } from "../nats/messages/pod-messages.ts";
import { StreamsLost } from "../nats/streams/stream-identities.ts";
import { healthOf, startingStatus, type ProgramStatus } from "./status.ts";
import { readSettingsFile } from "./settings-file.ts";
import { startStep } from "./start-error.ts";
import { version } from "../version.ts";
import { createWebhookEngine, type WebhookEngine } from "../webhooks/engine.ts";
import { podKey } from "../webhooks/workers/lane-ownership.ts";

/** What every way of running the product is told. */
export interface ProgramOptions {
  /** Address that both ports are opened on. */
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** 0 picks a free one. */
  readonly adminPort: number;
  readonly settingsFile?: string;
  readonly log: Logger;
}

/** What differs between the ways of running the product. */
export interface ProgramPlan<State extends ConfigState> extends ProgramOptions {
  /** Name under which the program reports. */
  readonly pod: string;
  /** Takes hold of what must be there before anything else. @throws StartError */
  readonly prepare: (settings: Settings, shutdown: Shutdown) => Promise<Prepared<State>>;
  /** Whether NATS that is away is waited for; else it ends the start. */
  readonly waitsForNats: boolean;
  /** After the end was asked for, requests are taken for so long, while readiness says that no more should be sent. */
  readonly unreadyMs: number;
}

/** How the parts that differ are started, once health is served. */
export interface Prepared<State extends ConfigState> {
  /** Resolves with a source that holds a configuration, however long that takes. @throws StartError */
  readonly openConfig: (context: OpenContext) => Promise<ConfigSource<State>>;
  /** Logs what became of the configuration. */
  readonly logState: StateLog<State>;
  readonly natsAccess: () => Promise<NatsAccess>;
  /** Unique among the pods, and best the same after a restart, so that a pod is at once the home of its lanes again. */
  readonly podId: string;
  /** Whom to trust besides the issuers of the settings. */
  readonly issuers: readonly TrustedIssuer[];
}

interface OpenContext {
  readonly registry: Registry;
  /** Told in one sentence what the configuration waits for. */
  readonly onWaiting: (detail: string) => void;
  /** The start is given up. */
  readonly stopping: AbortSignal;
}

/** The whole program in one process, ready. */
export interface Program {
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
const natsPauseMs = 1000;

/** What the parts of a running program share. */
interface Setting<State extends ConfigState> {
  readonly plan: ProgramPlan<State>;
  readonly settings: Settings;
  readonly prepared: Prepared<State>;
  readonly shutdown: Shutdown;
  readonly registry: Registry;
  readonly observe: (outcome: RequestOutcome) => void;
  readonly status: ProgramStatus;
  readonly reporter: ConfigReporter;
  readonly stopping: AbortSignal;
}

/**
 * Starts everything in order, resolves when it is ready, and closes everything again when a step fails.
 * @returns undefined when `stopping` was aborted before
 * @throws StartError in a sentence for people
 */
export async function startProgram<State extends ConfigState>(
  plan: ProgramPlan<State>,
  stopping: AbortSignal,
): Promise<Program | undefined> {
  const shutdown = new Shutdown(plan.log);
  try {
    return await startParts(plan, shutdown, stopping);
  } catch (error) {
    await shutdown.run(failedStartDrainMs);
    if (stopping.aborted) return undefined;
    throw error;
  }
}

async function startParts<State extends ConfigState>(
  plan: ProgramPlan<State>,
  shutdown: Shutdown,
  stopping: AbortSignal,
): Promise<Program> {
  const settings = await readSettingsFile(plan.settingsFile);
  const prepared = await plan.prepare(settings, shutdown);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const observe = createRequestMetrics(registry);
  const status = startingStatus(plan.pod);
  const reporter = new ConfigReporter(status);
  const setting = { plan, settings, prepared, shutdown, registry, observe, status, reporter, stopping };
  const adminUrl = await serveAdmin(setting);
  const source = await openConfig(setting);
  const initial = source.current();
  const { natsUrl, engine, metrics } = await startEngines(setting, initial);
  const url = await servePublic(setting, engine, metrics);
  follow(setting, source, initial, { engine, metrics });
  stopping.throwIfAborted();
  const stop = async (drainMs: number): Promise<void> => {
    // Whoever sends requests here is told first, and given the time to notice.
    status.draining = true;
    reporter.changed();
    await sleep(plan.unreadyMs);
    await shutdown.run(drainMs);
  };
  return { url, adminUrl, natsUrl, configHash: initial.hash, stop };
}

async function serveAdmin<State extends ConfigState>(setting: Setting<State>): Promise<string> {
  const { plan, registry, observe, status, reporter, shutdown } = setting;
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

async function openConfig<State extends ConfigState>(setting: Setting<State>): Promise<ConfigSource<State>> {
  const { prepared, registry, status, shutdown, stopping } = setting;
  const onWaiting = (detail: string): void => {
    status.waitingFor = detail;
  };
  const source = await prepared.openConfig({ registry, onWaiting, stopping });
  shutdown.add("configuration source", () => source.stop());
  return source;
}

interface Engines {
  readonly engine: WebhookEngine;
  readonly metrics: MetricsApi;
}

async function startEngines<State extends ConfigState>(
  setting: Setting<State>,
  initial: State,
): Promise<Engines & { readonly natsUrl: string }> {
  const { plan, settings, prepared, shutdown, registry, status, reporter } = setting;
  const { log } = plan;
  const access = await prepared.natsAccess();
  const nats = await startStep("nats", "NATS cannot be used", () => connect(setting, access));
  shutdown.add("NATS connection", () => nats.drain());
  status.nats = nats;
  const { config } = initial;
  const layout = createLayout(settings.streams.prefix);
  const messages = createPodMessages(nats, layout, podKey(prepared.podId), (error, topic) =>
    log.warn({ err: error, topic }, "another pod's question is not answered"),
  );
  shutdown.add("messages of other pods", () => messages.stop());
  const engine = await startStep("nats", "NATS cannot be used", () =>
    untilStreamsFound(setting, () =>
      createWebhookEngine({ nats, settings, config, log, registry, podId: prepared.podId, version, peers: messages }),
    ),
  );
  shutdown.add("webhooks", (remainingMs) => engine.stop(remainingMs));
  status.engine = engine;
  shutdown.add("marks", reporter.followMarks(engine));
  const { residency } = settings;
  const shared = { pods: { ...messages, ...engine.pods }, sharedBytes: createCacheStream(nats, layout) };
  const { deadlineMs } = settings.metrics;
  const metrics = createMetricsApi({
    config,
    log,
    registry,
    deadlineMs,
    ...shared,
    ...(residency === undefined ? {} : { residency }),
  });
  shutdown.add("metrics", () => metrics.stop());
  status.applied = { state: initial, at: new Date() };
  return { natsUrl: access.servers.join(","), engine, metrics };
}

/** One try after another, where the plan is to wait. */
async function connect<State extends ConfigState>(
  setting: Setting<State>,
  access: NatsAccess,
): Promise<NatsConnectionHandle> {
  const { plan, status, stopping } = setting;
  for (;;) {
    try {
      return await connectNats(access);
    } catch (error) {
      status.natsFault = error instanceof Error ? error.message : String(error);
      if (!plan.waitsForNats) throw error;
      plan.log.warn({ reason: status.natsFault }, "NATS is waited for");
    }
    await sleep(natsPauseMs, undefined, { signal: stopping });
  }
}

/** Waits for streams that another pod remembers, where the plan is to wait. */
async function untilStreamsFound<State extends ConfigState, T>(
  { plan, status, stopping }: Setting<State>,
  start: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof StreamsLost) || !plan.waitsForNats) throw error;
      if (status.engineFault !== error.message) plan.log.error({ reason: error.message }, "streams lost");
      status.engineFault = error.message;
    }
    await sleep(natsPauseMs, undefined, { signal: stopping });
  }
}

async function servePublic<State extends ConfigState>(
  { plan, settings, prepared, observe, shutdown, status }: Setting<State>,
  engine: WebhookEngine,
  metrics: MetricsApi,
): Promise<string> {
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
  const log = plan.log.child({ server: "public" });
  const unbound = settings.issuers
    .filter(({ tokenBinding = settings.tokenBinding }) => tokenBinding === "None")
    .map(({ issuer }) => issuer);
  if (unbound.length > 0)
    log.warn(
      { issuers: unbound },
      "tokens of these issuers need not be bound to a certificate: whoever has one can use it",
    );
  const tls = await openTls(settings);
  const app = createPublicServer({
    log,
    observe,
    authenticate: createAuthenticate([...prepared.issuers, ...configured], settings.claims, Date.now, settings),
    readCertificate: createCertificateReader(settings),
    readAddress: createAddressReader(settings),
    ...(tls === undefined ? {} : { tls: tls.options }),
    routes: [...routes, ...schemaRoutes(routes)],
    now: Date.now,
    isEnding: () => status.draining,
  });
  shutdown.add("public server", (remainingMs) => stopServer(app, remainingMs));
  if (tls !== undefined) shutdown.add("certificates", tls.follow(app.server, log));
  return startStep("port", "the port cannot be opened", () => listenServer(app, plan.host, plan.port));
}

async function openTls({ tls }: Settings): Promise<TlsFiles | undefined> {
  return tls === undefined
    ? undefined
    : startStep("settings", "the files of tls cannot be used", () => openTlsFiles(tls));
}

function follow<State extends ConfigState>(
  { plan, prepared, shutdown, status, reporter }: Setting<State>,
  source: ConfigSource<State>,
  initial: State,
  { engine, metrics }: Engines,
): void {
  const end = followConfig({
    source,
    initial,
    apply: ({ config }) => applyAll([engine, metrics], config),
    told: (state, fault) => {
      if (fault === undefined)
        status.applied = { state, at: status.applied?.state.hash === state.hash ? status.applied.at : new Date() };
      status.refused = fault === undefined ? undefined : { state, reason: fault.message };
      reporter.changed();
    },
    logState: prepared.logState,
    log: plan.log,
  });
  shutdown.add("configuration", end);
}

/** A part that cannot obey keeps no other from it. @throws what the first such part threw */
function applyAll(parts: readonly { apply(config: RuntimeConfig): void }[], config: RuntimeConfig): void {
  const faults: unknown[] = [];
  for (const part of parts) {
    try {
      part.apply(config);
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}
