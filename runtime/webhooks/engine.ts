import { setMaxListeners } from "node:events";
import type { PartnerConfig, RuntimeConfig } from "../../crds/config.ts";
import { runPeriodically } from "../bounds/periodic.ts";
import type { Settings } from "../config/settings/settings.ts";
import { Refusal } from "../errors/refusal.ts";
import type { Layout } from "../nats/layout.ts";
import { createBucket, type Bucket } from "../nats/streams/buckets.ts";
import { ensureTopology } from "../nats/streams/topology.ts";
import type { EndpointValidation } from "./authorization/endpoint-validation.ts";
import { createRouter, type Router } from "./delivery/router.ts";
import {
  createEngineContext,
  createNonce,
  openStreams,
  type EngineContext,
  type WebhookEngineDeps,
} from "./engine-context.ts";
import { parseEnvelope } from "./events/envelope.ts";
import { personalDataRules } from "./events/personal-data.ts";
import { listEvents, type EventPage, type EventQuery } from "./history/event-list.ts";
import type { HistoryView } from "./history/history-view.ts";
import { readHistory, type EventHistory } from "./history/history.ts";
import { createBackpressure, type Backpressure } from "./ingest/backpressure.ts";
import { createIdempotencyKeys, type IdempotencyKeys } from "./ingest/idempotency-keys.ts";
import { serveIngestSubject } from "./ingest/ingest-nats.ts";
import { createIngest, type Ingest } from "./ingest/ingest.ts";
import { createTakenIds, readEventIdUse, type EventIdUse } from "./ingest/taken-ids.ts";
import { startBackground, type MaintenanceJob } from "./maintenance/background-loops.ts";
import { createMaintenanceJobs } from "./maintenance/maintenance-jobs.ts";
import { createRunningPartners } from "./maintenance/running-partners.ts";
import { createStreamWatch, type StreamWatch } from "./maintenance/stream-watch.ts";
import type { LaneRules } from "./partners/assign-lanes.ts";
import { ConfiguredPartners } from "./partners/configured-partners.ts";
import type { DisabledMark } from "./partners/disabled-partners.ts";
import { defaultLaneRules } from "./partners/partner.ts";
import { createRemovedPartners } from "./partners/removed-partners.ts";
import { createDeadLettersApi, type DeadLettersApi } from "./replay/dead-letters-api.ts";
import { createSettledCounter } from "./replay/count-settled.ts";
import { createReplayStore, type ReplayStore } from "./replay/replay-store.ts";
import { createReplays, type Replays, type ReplaysDeps } from "./replay/replays.ts";
import { createReplayRunner } from "./replay/runner.ts";
import { publishedKeys, type PublishedKeys } from "./signing/published-keys.ts";
import { createLaneOwnership, podKey, type LaneOwnership } from "./workers/lane-ownership.ts";
import { createLanes, type Lanes } from "./workers/lane-workers.ts";
import { createPromotions, type Promotions } from "./workers/promotions.ts";

/** Share of the own lanes that promoted partners may take. */
const promotedShare = 0.25;
/** Replicated streams make acknowledgements cost more. Source: design §4 ("Home pod"). */
const replicatedLaneRules: LaneRules = { ...defaultLaneRules, ownLanesMax: 200 };
/** Heartbeats are sent twice a second. */
const silentMsMax = 10_000;
const streamWatchMs = 5_000;

/**
 * Creates what is missing in JetStream, applies the configuration and begins to route and deliver.
 *
 * @throws Error in a sentence for people when NATS cannot be used
 */
export async function createWebhookEngine(deps: WebhookEngineDeps): Promise<WebhookEngine> {
  const layout = await ensureTopology(deps.nats, deps.settings.streams);
  const engine = new WebhookEngine(deps, layout, await createStreamWatch(deps.nats, layout, deps.log));
  await engine.start();
  return engine;
}

/** Pods by the names that they have in subjects. */
interface LivePods {
  /** This pod. */
  readonly own: string;
  /** Sorted, including this pod. */
  live(): readonly string[];
}

/** Whether the engine can work; `detail` says why not. */
interface EngineHealth {
  readonly ok: boolean;
  readonly detail?: string;
}

/** The webhook half: stores events and delivers each to the partners that subscribe to it. */
export class WebhookEngine {
  /** Stores one event; resolves only after JetStream has it. @throws Refusal */
  readonly ingest: Ingest;
  /** Replays and redrives. */
  readonly replays: Replays;
  readonly deadLetters: DeadLettersApi;
  /** Responses to requests by their `Idempotency-Key`. */
  readonly idempotencyKeys: IdempotencyKeys;
  /** The pods with a recent heartbeat. */
  readonly pods: LivePods;
  readonly #deps: WebhookEngineDeps;
  readonly #layout: Layout;
  readonly #streamWatch: StreamWatch;
  readonly #ending = new AbortController();
  readonly #partners: ConfiguredPartners;
  readonly #promotions: Promotions;
  readonly #ownership: LaneOwnership;
  readonly #context: EngineContext;
  readonly #lanes: Lanes;
  readonly #router: Router;
  readonly #stored: ReplaysDeps;
  readonly #jobs: readonly MaintenanceJob[];
  readonly #backpressure: Backpressure;
  #stopBackground: () => void = () => undefined;
  #stopSubject: () => Promise<void> = () => Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(deps: WebhookEngineDeps, layout: Layout, streamWatch: StreamWatch) {
    const { nats, settings, podId, log } = deps;
    const laneRules = deps.laneRules ?? laneRulesOf(settings);
    this.#deps = deps;
    this.#layout = layout;
    this.#streamWatch = streamWatch;
    setMaxListeners(0, this.#ending.signal);
    this.#promotions = createPromotions(
      this.#bucket("promotedPartners"),
      Math.ceil(laneRules.ownLanesMax * promotedShare),
    );
    this.#partners = new ConfiguredPartners(deps.config, laneRules, () => this.#promotions.tokens);
    this.#ownership = createLaneOwnership({
      bucket: this.#bucket("pods"),
      clock: nats.clock,
      podId,
      localNow: deps.now ?? Date.now,
      log,
      onChange: () => this.#lanes.reconcile(),
    });
    this.pods = { own: podKey(podId), live: () => this.#ownership.livePods() };
    const streams = openStreams(deps, layout);
    this.#context = createEngineContext(deps, {
      layout,
      streams,
      partners: this.#partners,
      isOwn: ({ lane }) => this.#ownership.isOwner(lane),
      countSettled: createSettledCounter(streams.replays, log, this.#ending.signal),
      ending: this.#ending.signal,
    });
    this.#lanes = createLanes({
      context: this.#context,
      ownership: this.#ownership,
      promotions: this.#promotions,
      inWorkMax: deps.inWorkMax,
    });
    this.#router = createRouter(this.#context);
    this.#stored = {
      events: streams.events,
      deliveries: streams.deliveries,
      attempts: streams.attempts,
      deadLetters: streams.deadLetters,
      replays: streams.replays,
      partners: this.#partners.all,
      table: this.#partners.table,
      removed: createRemovedPartners(this.#bucket("partners"), this.#partners.has),
      now: this.#context.now,
      log,
      ending: this.#ending.signal,
    };
    const replayStore = createReplayStore(this.#bucket("replays"));
    this.replays = createReplays(this.#stored, replayStore);
    this.deadLetters = this.#createDeadLetters();
    this.idempotencyKeys = createIdempotencyKeys(this.#bucket("idempotency"), this.#context.now);
    this.#backpressure = createBackpressure(streams.events, settings.streams.events.maxBytes, log);
    this.ingest = this.#createIngest();
    this.#jobs = this.#createJobs(replayStore);
    this.apply(deps.config);
  }

  async start(): Promise<void> {
    const { nats, log, settings } = this.#deps;
    try {
      await this.#ownership.start();
      await this.#router.start();
    } catch (error) {
      await this.stop(0);
      throw error;
    }
    this.#lanes.start();
    const stopBackground = startBackground({
      context: this.#context,
      router: this.#router,
      lanes: this.#lanes,
      ownership: this.#ownership,
      partners: this.#partners.all,
      deliveriesBytesMax: settings.streams.deliveries.maxBytes,
      looks: [() => this.#context.backlogs.poll(), () => this.#backpressure.look(), () => this.#followPromotions()],
      jobs: this.#jobs,
    });
    const stopWatch = runPeriodically(streamWatchMs, () => this.#streamWatch.look());
    this.#stopBackground = () => {
      stopBackground();
      stopWatch();
    };
    this.#stopSubject = serveIngestSubject({ nats, layout: this.#layout, ingest: this.ingest, log });
  }

  /** Replaces the configuration. Deliveries to unchanged partners are not interrupted. @default the same again */
  apply(config?: RuntimeConfig): void {
    if (config !== undefined) {
      this.#context.partnerMetrics.configured(config.partners);
    }
    this.#partners.apply(config);
    this.#router.use(this.#partners.table());
    this.#lanes.apply(this.#partners.all());
  }

  /**
   * An event with its deliveries. Undefined when none of these tenants (`*`: any) has it, or the view shows none of its
   * deliveries.
   *
   * @throws Refusal `events_unavailable`
   */
  event(eventId: string, tenants: readonly string[], view?: HistoryView): Promise<EventHistory | undefined> {
    return answered(() => readHistory(this.#stored, eventId, tenants, view));
  }

  /** The tenants, among these, that have an event id and that were refused it. @throws Refusal `events_unavailable` */
  eventIdUse(eventId: string, tenants: readonly string[]): Promise<EventIdUse | undefined> {
    return answered(() => readEventIdUse(this.#stored, eventId, tenants));
  }

  /** Events of some tenants, oldest first. @throws Refusal `event_not_found`, `events_unavailable` */
  async events(query: EventQuery): Promise<EventPage> {
    const page = await answered(() => listEvents(this.#stored, query));
    if (page === undefined) {
      throw new Refusal("event_not_found", "No event of the id that bounds the list is visible to this caller.");
    }
    return page;
  }

  /** The public keys of a partner (`namespace/name`) that have not ended; none for a partner that does not exist. */
  publicKeys(partner: string): PublishedKeys {
    const signers = this.#partners.all().find(({ label }) => label === partner)?.signers ?? [];
    return publishedKeys(signers, this.#context.now());
  }

  /** Partners that answered 410, including those that an edit has enabled since. */
  disabledPartners(): Promise<readonly DisabledMark[]> {
    return this.#context.disabled.list();
  }

  /**
   * Calls the listener after this pod disabled a partner; marks of other pods appear only in the list. Returns a
   * function that removes the listener.
   */
  onDisabled(listener: () => void): () => void {
    return this.#context.disabled.onMark(listener);
  }

  /** Results of endpoint validation, for the partners whose lanes this pod owns. */
  endpointValidations(): readonly (EndpointValidation & { readonly partner: PartnerConfig })[] {
    return this.#partners.all().flatMap((partner) => {
      if (partner.config.endpoint.verification === undefined || !this.#ownership.isOwner(partner.lane)) return [];
      const result = this.#context.validations.resultOf(partner);
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

  /**
   * Takes no more messages and leaves its lanes to other pods. Attempts under way may end within the bound; other pods
   * retry the rest.
   */
  stop(drainMs: number): Promise<void> {
    this.#stopped ??= this.#stop(drainMs);
    return this.#stopped;
  }

  async #stop(drainMs: number): Promise<void> {
    await Promise.all([this.#stopSubject(), this.#streamWatch.stop()]);
    // Other pods take the lanes over at once, while the attempts under way here may end.
    await Promise.all([this.#router.stop(drainMs), this.#lanes.stop(drainMs), this.#ownership.leave()]);
    this.#ending.abort();
    this.#stopBackground();
    await this.#context.sender.close();
  }

  #bucket(name: keyof Layout["buckets"]): Bucket {
    return createBucket(this.#deps.nats, this.#layout.buckets[name]);
  }

  #createIngest(): Ingest {
    const { nats, settings } = this.#deps;
    const { events, metrics } = this.#context;
    const rules = { personalData: personalDataRules(settings.personalData) };
    return createIngest({
      events,
      isFull: () => this.#backpressure.isFull,
      parse: (bytes) => parseEnvelope(bytes, rules),
      isConnected: () => nats.isConnected() && this.#streamWatch.loss === undefined,
      nonce: createNonce(),
      metrics,
      idForms: settings.events.idForms,
      onTaken: createTakenIds(this.#stored),
    });
  }

  #createDeadLetters(): DeadLettersApi {
    const { sender, tokens, installation, version, now } = this.#context;
    const { events, attempts, deadLetters, partners } = this.#stored;
    return createDeadLettersApi({
      events,
      attempts,
      deadLetters,
      partners,
      sender,
      tokens,
      installation,
      version,
      now,
    });
  }

  #createJobs(replayStore: ReplayStore): readonly MaintenanceJob[] {
    const { nats, settings, peers, log, orphanAgeMs } = this.#deps;
    const running = createRunningPartners({
      livePods: () => this.pods.live(),
      own: this.pods.own,
      has: (key) => this.#partners.has(key) || this.#lanes.isBusyWith(key),
      log,
      peers,
    });
    return createMaintenanceJobs({
      context: this.#context,
      router: this.#router,
      replays: () => createReplayRunner(this.#stored, replayStore),
      nats,
      layout: this.#layout,
      streams: settings.streams,
      known: this.#streamWatch.known,
      partners: this.#partners.all,
      running,
      removedAfterSeconds: settings.delivery.removedAfterSeconds,
      orphanAgeMs,
    });
  }

  async #followPromotions(): Promise<void> {
    if (this.#partners.all().some(({ lane, key }) => lane !== key) && (await this.#promotions.look())) {
      this.apply();
    }
  }
}

function laneRulesOf({ delivery, streams }: Settings): LaneRules {
  const usual = streams.replicas === 1 ? defaultLaneRules : replicatedLaneRules;
  return { ...usual, ownLanesMax: delivery.ownLanesMax ?? usual.ownLanesMax };
}

/** Reads fail only because JetStream does not answer. @throws Refusal `events_unavailable` */
async function answered<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new Refusal("events_unavailable", "The event store does not answer", { cause, retryAfterSeconds: 1 });
  }
}
