// Start, status and stop of the program. The entry points are `main.ts` and `standalone.ts`.

import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { collectDefaultMetrics, type Registry } from "prom-client";
import type { RuntimeConfig } from "../../crds/config.ts";
import type { ConfigSource, ConfigState } from "../config/config-source.ts";
import { parseSettings } from "../config/settings/parse-settings.ts";
import { defaultSettings } from "../config/settings/settings-schema.ts";
import type { Settings } from "../config/settings/settings.ts";
import { createRequestMetrics } from "../http/server/request-log.ts";
import { OtlpExporter } from "../tracing/otlp-exporter.ts";
import { createRegistry } from "../tracing/traced-histogram.ts";
import { createTracer, type Tracer } from "../tracing/tracer.ts";
import { version } from "../version.ts";
import { ConfigReporter } from "./config-report.ts";
import { Expirations } from "./expirations.ts";
import { followConfig } from "./follow-config.ts";
import type { Prepared, ProgramContext, ProgramOptions, ProgramPlan } from "./program-plan.ts";
import { serveAdmin, servePublic } from "./serve-apis.ts";
import { type Shutdown, startOrClose } from "./shutdown.ts";
import { type Engines, startEngines } from "./start-engines.ts";
import { startStep } from "./start-error.ts";
import { startingStatus } from "./status.ts";

/** The product, ready. */
export interface Program {
  readonly url: string;
  readonly adminUrl: string;
  readonly natsUrl: string;
  /** Of the configuration that was applied at the start. */
  readonly configHash: string;
  /** Accepts nothing new, drains what is in flight within the bound, and closes everything. Runs once. */
  stop(drainMs: number): Promise<void>;
}

/**
 * Starts all parts in order and resolves when the program is ready. When a step fails, it closes the parts before it.
 * @returns undefined when `stopping` was aborted before
 * @throws StartError with one sentence for the operator
 */
export async function startProgram<State extends ConfigState>(
  plan: ProgramPlan<State>,
  stopping: AbortSignal,
): Promise<Program | undefined> {
  return startOrClose(plan.log, stopping, (shutdown) => startParts(plan, shutdown, stopping));
}

async function startParts<State extends ConfigState>(
  plan: ProgramPlan<State>,
  shutdown: Shutdown,
  stopping: AbortSignal,
): Promise<Program> {
  const settings = await readSettingsFile(plan.settingsFile);
  const prepared = await plan.prepare(settings, shutdown);
  const registry = createRegistry(plan.tracing !== undefined);
  collectDefaultMetrics({ register: registry });
  const tracer = openTracer(plan, prepared.podId, registry, shutdown);
  const observe = createRequestMetrics(registry);
  const status = startingStatus(plan.pod);
  const reporter = new ConfigReporter(status);
  const expirations = new Expirations(registry);
  const context = {
    plan,
    settings,
    prepared,
    shutdown,
    registry,
    tracer,
    observe,
    status,
    reporter,
    expirations,
    stopping,
  };
  const adminUrl = await serveAdmin(context);
  const source = await openConfig(context, prepared);
  const initial = source.current();
  const engines = await startEngines(context, initial);
  expirations.apply(initial.config);
  status.applied = { state: initial, at: new Date() };
  // From here on, connections come: a stop request leads to a drain.
  stopping.throwIfAborted();
  const url = await servePublic(context, engines);
  follow(context, engines, { source, initial, logState: prepared.logState });
  const stop = async (drainMs: number): Promise<void> => {
    // Load balancers see the program as not ready, and have time to send requests elsewhere.
    status.draining = true;
    reporter.changed();
    await sleep(plan.unreadyMs);
    await shutdown.run(drainMs);
  };
  return { url, adminUrl, natsUrl: engines.natsUrl, configHash: initial.hash, stop };
}

async function openConfig<State extends ConfigState>(
  { registry, status, shutdown, stopping }: ProgramContext,
  prepared: Prepared<State>,
): Promise<ConfigSource<State>> {
  const onWaiting = (detail: string): void => {
    status.waitingFor = detail;
  };
  const source = await prepared.openConfig({ registry, onWaiting, stopping });
  shutdown.add("configuration source", () => source.stop());
  return source;
}

function follow<State extends ConfigState>(
  { plan, shutdown, status, reporter, expirations }: ProgramContext,
  { engine, metrics }: Engines,
  followed: Pick<Prepared<State>, "logState"> & { readonly source: ConfigSource<State>; readonly initial: State },
): void {
  const end = followConfig({
    ...followed,
    apply: (state) => applyAll([engine, metrics, expirations], state),
    onState: (state, fault) => {
      if (fault === undefined)
        status.applied = { state, at: status.applied?.state.hash === state.hash ? status.applied.at : new Date() };
      status.rejected = fault === undefined ? undefined : { state, reason: fault.message };
      reporter.changed();
    },
    log: plan.log,
  });
  shutdown.add("configuration", end);
}

/** Applies a configuration to every part, also after one has failed. @throws the first error */
function applyAll(
  parts: readonly { apply(config: RuntimeConfig, hash: string): void }[],
  { config, hash }: Pick<ConfigState, "config" | "hash">,
): void {
  const faults: unknown[] = [];
  for (const part of parts) {
    try {
      part.apply(config, hash);
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}

/** Starts the export of spans. It stops after all parts that make spans. Undefined when tracing is off. */
function openTracer(
  { tracing, log }: Pick<ProgramOptions, "tracing" | "log">,
  instance: string,
  registry: Registry,
  shutdown: Shutdown,
): Tracer | undefined {
  if (tracing === undefined) return undefined;
  const { endpoint, ratio, service } = tracing;
  const exporter = new OtlpExporter({ endpoint, source: { service, instance, version }, registry, log });
  shutdown.add("span exporter", (remainingMs) => exporter.stop(remainingMs));
  return createTracer(ratio, (span) => exporter.add(span));
}

/**
 * Settings of a file; the defaults without one. Files that it names are relative to it. @throws StartError `settings`
 */
export async function readSettingsFile(file: string | undefined): Promise<Settings> {
  if (file === undefined) return defaultSettings;
  return startStep("settings", `the settings ${file} cannot be used`, async () => {
    const settings = parseSettings(await readFile(file, "utf8"), file);
    const { issuers, tls } = settings;
    const place = <T extends object>(part: T, names: readonly (keyof T & string)[]): T =>
      placed(part, names, dirname(file));
    return {
      ...settings,
      issuers: issuers.map((issuer) => place(issuer, ["jwksFile", "jwksCaFile", "jwksTokenFile"])),
      ...(tls === undefined ? {} : { tls: place(tls, ["certFile", "keyFile", "clientCaFile"]) }),
    };
  });
}

/** The same with the files of these names relative to the folder. */
function placed<T extends object>(part: T, names: readonly (keyof T & string)[], folder: string): T {
  const files = names.flatMap((name) => {
    const path = part[name];
    return typeof path === "string" ? [[name, resolve(folder, path)] as const] : [];
  });
  return { ...part, ...Object.fromEntries(files) };
}
