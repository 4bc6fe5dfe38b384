import { setTimeout as sleep } from "node:timers/promises";
import { Gauge, type Registry } from "prom-client";
import { untilAborted } from "../../limits/clock.ts";
import type { ConfigState } from "../config/config-source.ts";
import { createMetricsApi } from "../metrics/api/create-metrics-api.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import { connectNats, type NatsConnectionHandle } from "../nats/connection/connect.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import { createLayout } from "../nats/layout.ts";
import { createPodMessages } from "../nats/messages/pod-messages.ts";
import { StreamsLost } from "../nats/streams/stream-identities.ts";
import { JetStreamUnavailable } from "../nats/streams/topology.ts";
import { createUsageStream } from "../nats/streams/usage-stream.ts";
import { createPreviews, type Previews } from "../preview/previews.ts";
import { version } from "../version.ts";
import { createWebhookEngine, type WebhookEngine } from "../webhooks/engine.ts";
import { podKey } from "../webhooks/workers/heartbeats.ts";
import type { ProgramContext } from "./program-plan.ts";
import { startStep } from "./start-error.ts";

/** Both halves of the product on one NATS connection. */
export interface Engines {
  readonly natsUrl: string;
  readonly engine: WebhookEngine;
  readonly metrics: MetricsApi;
  readonly previews: Previews;
}

const natsPauseMs = 1000;
/** Time in which each metric is compared with its stores once. */
const checksMs = 300_000;

/** Connects to NATS and starts both halves with a first configuration. @throws StartError `nats`, `nats_server` */
export async function startEngines(
  context: ProgramContext,
  { config, hash }: Pick<ConfigState, "config" | "hash">,
): Promise<Engines> {
  const { plan, settings, prepared, shutdown, registry, tracer, status, reporter, expirations, stopping } = context;
  const { log } = plan;
  const access = await prepared.natsAccess();
  expirations.addFiles([
    { kind: "nats_ca", path: access.tls?.caFile },
    { kind: "nats_client", path: access.tls?.certFile },
  ]);
  const nats = await startStep("nats", "NATS cannot be used", () => connect(context, access));
  shutdown.add("NATS connection", () => nats.drain());
  registerNatsMetrics(registry, nats);
  status.nats = nats;
  const layout = createLayout(settings.streams.prefix);
  const messages = createPodMessages(nats, layout, podKey(prepared.podId), (error, topic) =>
    log.warn({ err: error, topic }, "request of another pod failed"),
  );
  shutdown.add("messages of other pods", () => messages.stop());
  const { podId, streamRecord, configFolder } = prepared;
  const parts = { podId, configFolder, configHash: hash, ...(streamRecord === undefined ? {} : { streamRecord }) };
  const engine = await startStep("nats", "NATS cannot be used", () =>
    untilStreamsFound(context, async () => {
      const deps = { ...parts, nats, settings, config, log, registry, tracer, version, peers: messages };
      const started = await createWebhookEngine(deps);
      // Nobody waits for it any more.
      if (stopping.aborted) await started.stop(0);
      return started;
    }),
  );
  shutdown.add("webhooks", (remainingMs) => engine.stop(remainingMs));
  status.engine = engine;
  status.streamsFault = undefined;
  shutdown.add("marks", reporter.followMarks(engine.disabledPartners));
  const { residency } = settings;
  const metrics = createMetricsApi({
    config,
    log,
    registry,
    tracer,
    deadlineMs: settings.metrics.deadlineMs,
    webIdentity: settings.metrics.webIdentity,
    pods: { ...messages, ...engine.pods },
    caches: plan.caches,
    checksMs,
    usage: createUsageStream(nats, layout),
    ...(residency === undefined ? {} : { residency }),
  });
  status.observed = () => metrics.observed();
  shutdown.add("metrics", () => metrics.stop());
  shutdown.add("usage", (remainingMs) => metrics.stopUsage(remainingMs));
  const { pods } = engine;
  const previews = createPreviews({
    nats,
    layout,
    pods,
    log,
    undeclared: settings.events.undeclared,
    config: () => status.applied?.state.config ?? config,
    judgeEdit: (...edit) => metrics.judgeEdit(...edit),
    removedUses: (...edit) => metrics.removedUses(...edit),
  });
  shutdown.add("previews", async () => previews.stop());
  return { natsUrl: access.servers.join(","), engine, metrics, previews };
}

function connect(context: ProgramContext, access: NatsAccess): Promise<NatsConnectionHandle> {
  const { plan, status } = context;
  return untilDone(
    context,
    () => connectNats(access, Date.now, plan.log),
    (error) => {
      status.natsFault = error instanceof Error ? error.message : String(error);
      plan.log.warn({ reason: status.natsFault }, "NATS unreachable, reconnecting");
    },
  );
}

/** Waits for JetStream, and for streams that another pod has recorded and that are missing now. */
function untilStreamsFound<T>(context: ProgramContext, start: () => Promise<T>): Promise<T> {
  const { plan, status } = context;
  return untilDone(context, start, (error) => {
    const isLoss = error instanceof StreamsLost;
    if (!isLoss && !(error instanceof JetStreamUnavailable)) throw error;
    const reason = error.message;
    const isNew = status.engineFault !== reason;
    status.engineFault = reason;
    if (isLoss) status.streamsFault = reason;
    if (isNew && isLoss) plan.log.error({ reason }, "streams lost");
    if (isNew && !isLoss) plan.log.warn({ err: error, reason }, "JetStream unavailable, retrying start");
  });
}

/**
 * Repeats a step until it succeeds, if the plan waits for NATS. A step that waits itself does not delay a stop.
 * @param failed receives each error before the next try
 * @throws what the step throws when the plan does not wait, and what `failed` throws
 */
async function untilDone<T>(
  { plan, stopping }: ProgramContext,
  step: () => Promise<T>,
  failed: (error: unknown) => void,
): Promise<T> {
  for (;;) {
    try {
      return await untilAborted(step(), stopping);
    } catch (error) {
      if (!plan.waitsForNats || stopping.aborted) throw error;
      failed(error);
    }
    await sleep(natsPauseMs, undefined, { signal: stopping });
  }
}

/** Shows whether a rotation of the credentials of NATS has reached this process. */
export function registerNatsMetrics(
  registry: Registry,
  nats: Pick<NatsConnectionHandle, "hasPendingCredentials">,
): void {
  void new Gauge({
    registers: [registry],
    name: "heliograph_nats_credentials_pending",
    help: "1 while the files have credentials of NATS that are not in use.",
    collect() {
      this.set(nats.hasPendingCredentials() ? 1 : 0);
    },
  });
}
