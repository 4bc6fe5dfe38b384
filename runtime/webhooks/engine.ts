import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { Registry } from "prom-client";
import type { RuntimeConfig } from "../../crds/config.ts";
import type { Settings } from "../config/settings.ts";
import { Refusal } from "../errors/refusal.ts";
import { createAttemptsStream } from "../nats/attempts-stream.ts";
import { createBucket } from "../nats/buckets.ts";
import type { NatsConnectionHandle } from "../nats/connect.ts";
import { createDeadLettersStream } from "../nats/dead-letters-stream.ts";
import { createDeliveriesStream } from "../nats/deliveries-stream.ts";
import { createEventsStream } from "../nats/events-stream.ts";
import type { Layout } from "../nats/layout.ts";
import { ensureTopology } from "../nats/topology.ts";
import type { Log, Stage } from "./delivery-context.ts";
import { createDeliveryMetrics } from "./delivery-metrics.ts";
import { createDisabledPartners, type DisabledMark } from "./disabled-partners.ts";
import { parseEnvelope } from "./envelope.ts";
import { readHistory, type EventHistory } from "./history.ts";
import { createHomes } from "./homes.ts";
import { keepAliveMs } from "./in-flight.ts";
import { createIngest, type Ingest } from "./ingest.ts";
import { createLanes } from "./lanes.ts";
import { compilePartners, type Partner } from "./partner.ts";
import { personalDataRules } from "./personal-data.ts";
import { createRouter, type Router, type RouterDeps } from "./router.ts";
import { createRoutingTable, type RoutingTable } from "./routing-table.ts";
import { createSender, type Sender } from "./send.ts";

/** The webhook half: takes events in and delivers them until every partner that wants them has answered for good. */
export interface WebhookEngine {
  /** Stores one event; resolves only after JetStream has it. @throws Refusal */
  ingest: Ingest;
  /**
   * An event with what became of it; undefined when none of these tenants (`*`: any) has it.
   *
   * @throws Refusal `events_unavailable`
   */
  event(eventId: string, tenants: readonly string[]): Promise<EventHistory | undefined>;
  /** From now on this configuration is obeyed; partners that it does not change go on undisturbed. */
  apply(config: RuntimeConfig): void;
  /** Partners that answered 410, also those that an edit has lifted since. */
  disabledPartners(): Promise<readonly DisabledMark[]>;
  health(): { readonly ok: boolean; readonly detail?: string };
  /**
   * Takes nothing more in work and leaves its lanes to others; attempts under way may end within the bound, what has
   * not is tried again elsewhere.
   */
  stop(drainMs: number): Promise<void>;
}

export interface WebhookEngineDeps {
  readonly nats: NatsConnectionHandle;
  readonly settings: Settings;
  readonly config: RuntimeConfig;
  readonly log: Log;
  /** @default one of its own */
  readonly registry?: Registry;
  /** Unique among the pods. */
  readonly podId: string;
  /** Version of this program, for `User-Agent`. @default "dev" */
  readonly version?: string;
  /** @default guarded connections over the system's network */
  readonly sender?: Sender;
  /** This machine's clock, Unix milliseconds. @default Date.now */
  readonly now?: () => number;
  /** [0, 1), for jitter. @default Math.random */
  readonly random?: () => number;
  /** Called at every stage, for fault tests. @default nothing */
  readonly onStage?: (stage: Stage, eventId: string) => void;
}

const backlogLookMs = 1_000;
/** Routing resumes when this part of the room for deliveries is free again. */
const backlogResumeShare = 0.95;
const nonceBytes = 9;

/**
 * Makes what is missing in JetStream, applies the configuration and begins to route and deliver.
 *
 * @throws Error in a sentence for people when NATS cannot be used
 */
export async function createWebhookEngine(deps: WebhookEngineDeps): Promise<WebhookEngine> {
  const { nats, settings, log } = deps;
  const layout = await ensureTopology(nats, settings.streams);
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const context = createContext(deps, layout, ending.signal);
  const homes = createHomes({
    bucket: createBucket(nats, layout.buckets.pods),
    clock: nats.clock,
    podId: deps.podId,
    localNow: deps.now ?? Date.now,
    log,
    onChange: () => lanes.reconcile(),
  });
  const lanes = createLanes(context, homes);
  const rules = { personalData: personalDataRules(settings.personalData) };
  const router = createRouter(context);
  let table: RoutingTable = createRoutingTable([]);
  let partners: readonly Partner[] = [];
  const apply = (config: RuntimeConfig): void => {
    partners = compilePartners(config, partners);
    table = createRoutingTable(partners);
    router.use(table);
    lanes.apply(partners);
  };
  apply(deps.config);
  await homes.start();
  lanes.start();
  await router.start();
  const timers = startTimers(context, router, () => lanes.keepAlive(), settings.streams.deliveries.maxBytes);
  const stopParts = async (drainMs: number): Promise<void> => {
    await Promise.all([router.stop(drainMs), lanes.stop(drainMs)]);
    ending.abort();
    timers.forEach((timer) => clearInterval(timer));
    await homes.leave();
    await context.sender.close();
  };
  let stopped: Promise<void> | undefined;
  return {
    ingest: createIngest({
      events: context.events,
      parse: (bytes) => parseEnvelope(bytes, rules),
      isConnected: () => nats.isConnected(),
      nonce: createNonce(),
      metrics: context.metrics,
    }),
    event: (eventId, tenants) => orUnavailable(() => readHistory({ ...context, table: () => table }, eventId, tenants)),
    apply,
    disabledPartners: () => context.disabled.list(),
    health: () => (nats.isConnected() ? { ok: true } : { ok: false, detail: "no connection to NATS" }),
    stop: (drainMs) => {
      stopped ??= stopParts(drainMs);
      return stopped;
    },
  };
}

function createContext(deps: WebhookEngineDeps, layout: Layout, ending: AbortSignal): RouterDeps {
  const { nats, settings, log, podId } = deps;
  return {
    events: createEventsStream(nats, layout),
    deliveries: createDeliveriesStream(nats, layout),
    attempts: createAttemptsStream(nats, layout),
    deadLetters: createDeadLettersStream(nats, layout),
    disabled: createDisabledPartners(createBucket(nats, layout.buckets.disabledPartners)),
    sender: deps.sender ?? createSender(),
    now: () => nats.clock.now(),
    random: deps.random ?? Math.random,
    podId,
    installation: settings.name,
    version: deps.version ?? "dev",
    log,
    metrics: createDeliveryMetrics(deps.registry ?? new Registry()),
    onStage: deps.onStage ?? (() => undefined),
    ending,
  };
}

function startTimers(
  { deliveries, log }: RouterDeps,
  router: Router,
  keepLanesAlive: () => void,
  deliveriesBytesMax: number,
): readonly NodeJS.Timeout[] {
  const keepAlive = setInterval(() => {
    router.keepAlive();
    keepLanesAlive();
  }, keepAliveMs);
  let isHeld = false;
  const look = async (): Promise<void> => {
    const bytes = await deliveries.sizeBytes();
    const bound = isHeld ? deliveriesBytesMax * backlogResumeShare : deliveriesBytesMax;
    if (bytes > bound !== isHeld) {
      isHeld = !isHeld;
      log.warn({ bytes, deliveriesBytesMax, isHeld }, "room for deliveries");
      router.hold(isHeld);
    }
  };
  const backlog = setInterval(() => {
    // Without an answer nothing changes; the next look comes soon.
    look().catch(() => undefined);
  }, backlogLookMs);
  return [keepAlive, backlog];
}

/** A prefix of this process and a count. */
function createNonce(): () => string {
  const prefix = randomBytes(nonceBytes).toString("base64url");
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}.${count.toString(36)}`;
  };
}

/** Reading history fails for one reason only: JetStream does not answer as it should. */
async function orUnavailable<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    throw new Refusal("events_unavailable", "The event store does not answer", { cause, retryAfterSeconds: 1 });
  }
}
