// Start, status and stop of one process. The entry points are `main.ts` and `standalone.ts`.
import { setTimeout as sleep } from "node:timers/promises";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { RuntimeConfig } from "../../crds/config.ts";
import type { ConfigSource, ConfigState } from "../config/config-source.ts";
import { createRequestMetrics } from "../http/server/request-metrics.ts";
import { ConfigReporter } from "./config-report.ts";
import { followConfig } from "./follow-config.ts";
import type { Prepared, ProgramContext, ProgramPlan } from "./program-plan.ts";
import { serveAdmin, servePublic } from "./serve-apis.ts";
import { readSettingsFile } from "./settings-file.ts";
import { Shutdown } from "./shutdown.ts";
import { startEngines, type Engines } from "./start-engines.ts";
import { startingStatus } from "./status.ts";

/** The product in one process, ready. */
export interface Program {
  readonly url: string;
  readonly adminUrl: string;
  readonly natsUrl: string;
  /** Of the configuration that was applied at the start. */
  readonly configHash: string;
  /** Accepts nothing new, drains what is in flight within the bound, and closes everything. Runs once. */
  stop(drainMs: number): Promise<void>;
}

/** Bound on closing the parts of a failed start. */
const failedStartDrainMs = 5000;

/**
 * Starts all parts in order and resolves when the program is ready. When a step fails, it closes the parts before it.
 * @returns undefined when `stopping` was aborted before
 * @throws StartError with one sentence for the operator
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
  const context = { plan, settings, prepared, shutdown, registry, observe, status, reporter, stopping };
  const adminUrl = await serveAdmin(context);
  const source = await openConfig(context, prepared);
  const initial = source.current();
  const engines = await startEngines(context, initial.config);
  status.applied = { state: initial, at: new Date() };
  const url = await servePublic(context, engines);
  follow(context, engines, { source, initial, logState: prepared.logState });
  stopping.throwIfAborted();
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
  { plan, shutdown, status, reporter }: ProgramContext,
  { engine, metrics }: Engines,
  followed: Pick<Prepared<State>, "logState"> & { readonly source: ConfigSource<State>; readonly initial: State },
): void {
  const end = followConfig({
    ...followed,
    apply: ({ config }) => applyAll([engine, metrics], config),
    onState: (state, fault) => {
      if (fault === undefined)
        status.applied = { state, at: status.applied?.state.hash === state.hash ? status.applied.at : new Date() };
      status.refused = fault === undefined ? undefined : { state, reason: fault.message };
      reporter.changed();
    },
    log: plan.log,
  });
  shutdown.add("configuration", end);
}

/** Applies a configuration to every part, also after one has failed. @throws the first error */
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
