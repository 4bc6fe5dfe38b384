import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { Registry } from "prom-client";
import type { PartnerConfig, RuntimeConfig } from "../../crds/config.ts";
import { systemClock } from "../bounds/clock.ts";
import type { Settings } from "../config/settings/settings.ts";
import { Refusal } from "../errors/refusal.ts";
import { createAttemptsStream } from "../nats/streams/attempts-stream.ts";
import { createBucket } from "../nats/streams/buckets.ts";
import type { NatsConnectionHandle } from "../nats/connection/connect.ts";
import { createDeadLettersStream } from "../nats/streams/dead-letters-stream.ts";
import { createDeliveriesStream } from "../nats/streams/deliveries-stream.ts";
import { createEventsStream } from "../nats/streams/events-stream.ts";
import { createReplaysStream, type ReplaysStream } from "../nats/streams/replays-stream.ts";
import type { Layout } from "../nats/layout.ts";
import type { PodMessages } from "../nats/messages/pod-messages.ts";
import { ensureTopology } from "../nats/streams/topology.ts";
import type { LaneRules } from "./partners/assign-lanes.ts";
import { createEndpointValidations, type EndpointValidation } from "./authorization/endpoint-validation.ts";
import { createTokens } from "./authorization/access-tokens.ts";
import { createBacklogs, type Backlogs, type BacklogsDeps } from "./delivery/backlog-limit.ts";
import { startBackground, type MaintenanceJob } from "./maintenance/background-loops.ts";
import type { Stage } from "./delivery/delivery-context.ts";
import type { Log } from "./log.ts";
import { createDeliveryMetrics } from "./telemetry/delivery-metrics.ts";
import { createDisabledPartners, type DisabledMark } from "./partners/disabled-partners.ts";
import { createMaintenanceJobs } from "./maintenance/maintenance-jobs.ts";
import { parseEnvelope } from "./events/envelope.ts";
import { listEvents, type EventPage, type EventQuery } from "./history/event-list.ts";
import { readHistory, type EventHistory, type HistoryDeps } from "./history/history.ts";
import type { HistoryView } from "./history/history-view.ts";
import { createHeldBytes } from "./maintenance/held-bytes.ts";
import { createLaneOwnership, podKey, type LaneOwnership } from "./workers/lane-ownership.ts";
import { createBackpressure, type Backpressure } from "./ingest/backpressure.ts";
import { createIdempotencyKeys, type IdempotencyKeys } from "./ingest/idempotency-keys.ts";
import { createDueBacklog } from "./maintenance/due-backlog.ts";
import { createIngest, type Ingest } from "./ingest/ingest.ts";
import { serveIngestSubject } from "./ingest/ingest-nats.ts";
import { createLanes, type Lanes } from "./workers/lane-workers.ts";
import { createListPartner } from "./partners/register-partner.ts";
import { compilePartners, defaultLaneRules, type Partner } from "./partners/partner.ts";
import { createOldestDue } from "./maintenance/oldest-due.ts";
import { createOperationalEvents } from "./delivery/operational-events.ts";
import { createPartnerMetrics } from "./telemetry/partner-metrics.ts";
import { createPromotions, type Promotions } from "./workers/promotions.ts";
import { personalDataRules } from "./events/personal-data.ts";
import { createTakenIds, readEventIdUse, type EventIdUse } from "./ingest/taken-ids.ts";
import { createSettledCounter } from "./replay/count-settled.ts";
import { createDeadLettersApi, type DeadLettersApi } from "./replay/dead-letters-api.ts";
import { createReplayStore } from "./replay/replay-store.ts";
import { createReplays, type Replays } from "./replay/replays.ts";
import { createReplayRunner } from "./replay/runner.ts";
import { createRouter, type Router, type RouterDeps } from "./delivery/router.ts";
import { createRoutingTable, type RoutingTable } from "./partners/routing-table.ts";
import { createRemovedPartners } from "./partners/removed-partners.ts";
import { createRunningPartners, type RunningPartners } from "./maintenance/running-partners.ts";
import { createSender, type Sender } from "./sending/send.ts";
import { publishedKeys, type PublishedKeys } from "./signing/published-keys.ts";
import { createStreamWatch, type StreamWatch } from "./maintenance/stream-watch.ts";
import { runPeriodically } from "../bounds/periodic.ts";

/** The webhook half: takes events in and delivers them until every partner that wants them has answered for good. */
export interface WebhookEngine {
  /** Stores one event; resolves only after JetStream has it. @throws Refusal */
  readonly ingest: Ingest;
  /**
   * An event with what became of it; undefined when none of these tenants (`*`: any) has it, or the view shows none of
   * its deliveries.
   *
   * @throws Refusal `events_unavailable`
   */
  event(eventId: string, tenants: readonly string[], view?: HistoryView): Promise<EventHistory | undefined>;
  /** Events of some tenants, oldest first. @throws Refusal `event_not_found`, `events_unavailable` */
  events(query: EventQuery): Promise<EventPage>;
  /** Who of these tenants has an event id and who was refused it. @throws Refusal `events_unavailable` */
  eventIdUse(eventId: string, tenants: readonly string[]): Promise<EventIdUse | undefined>;
  /**
   * The public keys of a partner (`namespace/name`) that have not ended; none for a partner that has none or does not
   * exist.
   */
  publicKeys(partner: string): PublishedKeys;
  /** Replays and redrives. */
  readonly replays: Replays;
  /** What was not delivered. */
  readonly deadLetters: DeadLettersApi;
  /** Outcomes of requests by their `Idempotency-Key`. */
  readonly idempotencyKeys: IdempotencyKeys;
  /** From now on this configuration is obeyed; partners that it does not change go on undisturbed. */
  apply(config: RuntimeConfig): void;
  /** Partners that answered 410, also those that an edit has lifted since. */
  disabledPartners(): Promise<readonly DisabledMark[]>;
  /**
   * Calls the listener after this pod disabled a partner; other pods' marks only show in the list. Answers how to stop.
   */
  onDisabled(listener: () => void): () => void;
  /** What endpoints answered that are asked for their consent, of partners whose home this pod is. */
  endpointValidations(): readonly (EndpointValidation & { readonly partner: PartnerConfig })[];
  health(): EngineHealth;
  /** The pods that are alive by their heartbeats. */
  readonly pods: LivePods;
  /**
   * Takes nothing more in work and leaves its lanes to others; attempts under way may end within the bound, what has
   * not is tried again elsewhere.
   */
  stop(drainMs: number): Promise<void>;
}

/** Pods by the names that they have as tokens of subjects. */
interface LivePods {
  /** This one. */
  readonly own: string;
  /** Sorted, this one among them. */
  live(): readonly string[];
}

/** Whether the engine can work, and if not, why. */
interface EngineHealth {
  readonly ok: boolean;
  readonly detail?: string;
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
  /** How pods ask each other which partners they have. @default no other pod is asked */
  readonly peers?: Pick<PodMessages, "ask" | "serve">;
  /** How long a partner is gone from the configuration before what waits for it ends. @default as the settings say */
  readonly removedAfterMs?: number;
  /** Age from which a message that nobody hands out is an orphan. @default 15 seconds */
  readonly orphanAgeMs?: number;
  /** Messages in work in this pod. @default 4096 */
  readonly inWorkMax?: number;
  /** How partners are spread over lanes. @default as the settings say */
  readonly laneRules?: LaneRules;
  /** Called at every stage, for fault tests. @default nothing */
  readonly onStage?: (stage: Stage, eventId: string) => void;
}

const nonceBytes = 9;
/** Part of the lanes for one partner that may be given to those who hold up others. */
const promotedShare = 0.25;
/** An acknowledgement of a replicated stream costs more. Source: design §4 ("Home pod"). */
const replicatedLaneRules: LaneRules = { ...defaultLaneRules, ownLanesMax: 200 };
/** Heartbeats come twice a second; after this long without an answer something is wrong. */
const silentMsMax = 10_000;
const secondMs = 1_000;
/** How often this pod compares the streams with those that it started with. */
const streamLookMs = 5_000;

/**
 * Makes what is missing in JetStream, applies the configuration and begins to route and deliver.
 *
 * @throws Error in a sentence for people when NATS cannot be used
 */
export async function createWebhookEngine(deps: WebhookEngineDeps): Promise<WebhookEngine> {
  const layout = await ensureTopology(deps.nats, deps.settings.streams);
  const engine = new Engine(deps, layout, await createStreamWatch(deps.nats, layout, deps.log));
  await engine.start();
  return engine;
}

class Engine implements WebhookEngine {
  readonly ingest: Ingest;
  readonly replays: Replays;
  readonly deadLetters: DeadLettersApi;
  readonly idempotencyKeys: IdempotencyKeys;
  readonly pods: LivePods;
  readonly #layout: Layout;
  readonly #backpressure: Backpressure;
  readonly #deps: WebhookEngineDeps;
  readonly #ending = new AbortController();
  readonly #context: EngineContext;
  readonly #ownership: LaneOwnership;
  readonly #lanes: Lanes;
  readonly #router: Router;
  readonly #duties: readonly MaintenanceJob[];
  readonly #promotions: Promotions;
  readonly #laneRules: LaneRules;
  readonly #removed: HistoryDeps["removed"];
  readonly #streamWatch: StreamWatch;
  #config: RuntimeConfig;
  #partners: readonly Partner[] = [];
  #table = createRoutingTable([]);
  #stopBackground: () => void = () => undefined;
  #stopSubject: () => Promise<void> = () => Promise.resolve();
  #stopStreamLooks: () => void = () => undefined;
  #stopped: Promise<void> | undefined;

  constructor(deps: WebhookEngineDeps, layout: Layout, streamWatch: StreamWatch) {
    const { nats, settings, podId, log } = deps;
    this.#deps = deps;
    this.#streamWatch = streamWatch;
    this.#layout = layout;
    this.idempotencyKeys = createIdempotencyKeys(createBucket(nats, layout.buckets.idempotency), () =>
      nats.clock.now(),
    );
    this.#config = deps.config;
    this.#laneRules = deps.laneRules ?? laneRulesOf(settings);
    setMaxListeners(0, this.#ending.signal);
    this.#context = createContext(deps, layout, this.#ending.signal, {
      partners: () => this.#partners,
      table: () => this.#table,
      isOwn: ({ lane }) => this.#ownership.isOwner(lane),
    });
    const bucket = createBucket(nats, layout.buckets.pods);
    const localNow = deps.now ?? Date.now;
    const onChange = (): void => this.#lanes.reconcile();
    this.#ownership = createLaneOwnership({ bucket, clock: nats.clock, podId, localNow, log, onChange });
    this.pods = { own: podKey(podId), live: () => this.#ownership.livePods() };
    const { ownLanesMax } = this.#laneRules;
    this.#removed = createRemovedPartners(createBucket(nats, layout.buckets.partners), (token) => this.#has(token));
    this.#promotions = createPromotions(
      createBucket(nats, layout.buckets.promotedPartners),
      Math.ceil(ownLanesMax * promotedShare),
    );
    this.#lanes = createLanes({
      context: this.#context,
      ownership: this.#ownership,
      promotions: this.#promotions,
      ...(deps.inWorkMax === undefined ? {} : { inWorkMax: deps.inWorkMax }),
    });
    this.#router = createRouter(this.#context);
    const { removedAfterMs = settings.delivery.removedAfterSeconds * secondMs, orphanAgeMs } = deps;
    const replayDeps = { ...this.#historyDeps(), ...this.#context, partners: () => this.#partners };
    const store = createReplayStore(createBucket(nats, layout.buckets.replays));
    this.replays = createReplays(replayDeps, store);
    this.deadLetters = createDeadLettersApi(replayDeps);
    this.#duties = createMaintenanceJobs({
      context: this.#context,
      router: this.#router,
      replays: () => createReplayRunner(replayDeps, store),
      nats,
      layout,
      streams: settings.streams,
      known: streamWatch.known,
      partners: () => this.#partners,
      running: this.#runningPartners(),
      removedAfterMs,
      ...(orphanAgeMs === undefined ? {} : { orphanAgeMs }),
    });
    const rules = { personalData: personalDataRules(settings.personalData) };
    this.#backpressure = createBackpressure(this.#context.events, settings.streams.events.maxBytes, log);
    this.ingest = createIngest({
      events: this.#context.events,
      isFull: () => this.#backpressure.isFull,
      parse: (bytes) => parseEnvelope(bytes, rules),
      isConnected: () => nats.isConnected() && streamWatch.loss === undefined,
      nonce: createNonce(),
      metrics: this.#context.metrics,
      idForms: settings.events.idForms,
      onTaken: createTakenIds(this.#context),
    });
    this.apply(deps.config);
  }

  async start(): Promise<void> {
    try {
      await this.#ownership.start();
      await this.#router.start();
    } catch (error) {
      await this.stop(0);
      throw error;
    }
    this.#lanes.start();
    const parts = { context: this.#context, router: this.#router, lanes: this.#lanes, ownership: this.#ownership };
    const deliveriesBytesMax = this.#deps.settings.streams.deliveries.maxBytes;
    const heldBytes = createHeldBytes({ deliveries: this.#context.deliveries, partners: () => this.#partners });
    this.#stopBackground = startBackground({
      ...parts,
      heldBytes,
      deliveriesBytesMax,
      looks: this.#looks(),
      jobs: this.#duties,
    });
    const { nats, log } = this.#deps;
    this.#stopStreamLooks = runPeriodically(streamLookMs, () => this.#streamWatch.look());
    this.#stopSubject = serveIngestSubject({ nats, layout: this.#layout, ingest: this.ingest, log });
  }

  /** What this pod looks at in turns. */
  #looks(): readonly (() => Promise<void>)[] {
    const promoted = async (): Promise<void> => {
      if (this.#partners.some(({ lane, key: token }) => lane !== token) && (await this.#promotions.look())) {
        this.apply(this.#config);
      }
    };
    return [
      () => this.#context.backlogs.look(),
      () => this.#backpressure.look(),
      promoted,
      this.#oldestDue(),
      this.#dueBacklog(),
    ];
  }

  #has(token: string): boolean {
    return this.#partners.some((partner) => partner.key === token);
  }

  #runningPartners(): RunningPartners {
    const { peers, log } = this.#deps;
    const has = (token: string): boolean => this.#has(token) || this.#lanes.isBusyWith(token);
    const livePods = (): readonly string[] => this.pods.live();
    return createRunningPartners({ livePods, own: this.pods.own, has, log, ...(peers === undefined ? {} : { peers }) });
  }

  #dueBacklog(): () => Promise<void> {
    const { deliveries, partnerMetrics: metrics } = this.#context;
    const isOwner = (lane: string): boolean => this.#ownership.isOwner(lane);
    return createDueBacklog({ deliveries, partners: () => this.#partners, isOwner, metrics });
  }

  #oldestDue(): () => Promise<void> {
    const { deliveries, partnerMetrics: metrics, now } = this.#context;
    const own = (): readonly Partner[] => this.#partners.filter(({ lane }) => this.#ownership.isOwner(lane));
    return createOldestDue({ deliveries, own, metrics, now });
  }

  apply(config: RuntimeConfig): void {
    this.#config = config;
    this.#context.partnerMetrics.configured(config.partners);
    this.#partners = compilePartners(config, this.#partners, this.#promotions.tokens, this.#laneRules);
    this.#table = createRoutingTable(this.#partners);
    this.#router.use(this.#table);
    this.#lanes.apply(this.#partners);
  }

  event(eventId: string, tenants: readonly string[], view?: HistoryView): Promise<EventHistory | undefined> {
    return answered(() => readHistory(this.#historyDeps(), eventId, tenants, view));
  }

  eventIdUse(eventId: string, tenants: readonly string[]): Promise<EventIdUse | undefined> {
    return answered(() => readEventIdUse(this.#context, eventId, tenants));
  }

  #historyDeps(): HistoryDeps {
    return { ...this.#context, table: () => this.#table, removed: this.#removed };
  }

  async events(query: EventQuery): Promise<EventPage> {
    const page = await answered(() => listEvents(this.#historyDeps(), query));
    if (page === undefined) {
      throw new Refusal("event_not_found", "No event of the id that bounds the list is visible to this caller.");
    }
    return page;
  }

  publicKeys(partner: string): PublishedKeys {
    const signers = this.#partners.find(({ label }) => label === partner)?.signers ?? [];
    return publishedKeys(signers, this.#context.now());
  }

  disabledPartners(): Promise<readonly DisabledMark[]> {
    return this.#context.disabled.list();
  }

  onDisabled(listener: () => void): () => void {
    return this.#context.disabled.onMark(listener);
  }

  endpointValidations(): readonly (EndpointValidation & { readonly partner: PartnerConfig })[] {
    return this.#partners.flatMap((partner) => {
      if (partner.config.endpoint.verification === undefined || !this.#ownership.isOwner(partner.lane)) return [];
      const result = this.#context.validations.verdictOf(partner);
      return result === undefined ? [] : [{ ...result, partner: partner.config }];
    });
  }

  health(): EngineHealth {
    if (!this.#deps.nats.isConnected()) {
      return { ok: false, detail: "no connection to NATS" };
    }
    if (this.#streamWatch.loss !== undefined) {
      return { ok: false, detail: this.#streamWatch.loss };
    }
    return this.#ownership.silentMs() > silentMsMax ? { ok: false, detail: "JetStream does not answer" } : { ok: true };
  }

  stop(drainMs: number): Promise<void> {
    this.#stopped ??= this.#stop(drainMs);
    return this.#stopped;
  }

  async #stop(drainMs: number): Promise<void> {
    await Promise.all([this.#stopSubject(), this.#streamWatch.stop()]);
    this.#stopStreamLooks();
    // Others take the lanes over at once, while what is under way here may end.
    await Promise.all([this.#router.stop(drainMs), this.#lanes.stop(drainMs), this.#ownership.leave()]);
    this.#ending.abort();
    this.#stopBackground();
    await this.#context.sender.close();
  }
}

function laneRulesOf({ delivery, streams }: Settings): LaneRules {
  const usual = streams.replicas === 1 ? defaultLaneRules : replicatedLaneRules;
  return { ...usual, ownLanesMax: delivery.ownLanesMax ?? usual.ownLanesMax };
}

interface EngineContext extends RouterDeps {
  readonly backlogs: Backlogs;
  readonly replays: ReplaysStream;
}

/** Reading fails for one reason only: JetStream does not answer as it should. @throws Refusal `events_unavailable` */
async function answered<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new Refusal("events_unavailable", "The event store does not answer", { cause, retryAfterSeconds: 1 });
  }
}

function createContext(
  deps: WebhookEngineDeps,
  layout: Layout,
  ending: AbortSignal,
  whose: Pick<BacklogsDeps, "partners" | "isOwn"> & { readonly table: () => RoutingTable },
): EngineContext {
  const { nats, settings, log, podId } = deps;
  const deliveries = createDeliveriesStream(nats, layout);
  const bucket = createBucket(nats, layout.buckets.fullPartners);
  const registry = deps.registry ?? new Registry();
  const replays = createReplaysStream(nats, layout);
  const sender = deps.sender ?? createSender();
  const tokens = createTokens(sender, () => nats.clock.now());
  const events = createEventsStream(nats, layout);
  const count = createSettledCounter(replays, log, ending);
  const operational = createOperationalEvents({
    events,
    table: whose.table,
    now: () => nats.clock.now(),
    installation: settings.name,
    nonce: createNonce(),
    log,
    signal: ending,
  });
  return {
    replays,
    onSettled: async (settled) => {
      await Promise.all([count(settled), operational.settled(settled)]);
    },
    onBreakerOpen: (partner, restMs) => operational.breakerOpened(partner, restMs),
    backlogs: createBacklogs({ deliveries, bucket, log, ...whose }),
    listPartner: createListPartner(createBucket(nats, layout.buckets.partners), ending),
    events,
    deliveries,
    attempts: createAttemptsStream(nats, layout),
    deadLetters: createDeadLettersStream(nats, layout),
    disabled: createDisabledPartners(createBucket(nats, layout.buckets.disabledPartners)),
    sender,
    tokens,
    validations: createEndpointValidations({
      sender,
      tokens,
      origin: settings.name,
      version: deps.version ?? "dev",
      now: () => nats.clock.now(),
    }),
    now: () => nats.clock.now(),
    clock: systemClock,
    random: deps.random ?? Math.random,
    podId,
    installation: settings.name,
    version: deps.version ?? "dev",
    log,
    metrics: createDeliveryMetrics(registry),
    partnerMetrics: createPartnerMetrics(registry),
    onStage: deps.onStage ?? (() => undefined),
    ending,
  };
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
