// Wiring of the webhook half: creates its rooms, starts and stops them. Decisions are made in the rooms.

import { setMaxListeners } from "node:events";
import type { PartnerConfig, RuntimeConfig } from "../../crds/config.ts";
import type { Layout } from "../nats/layout.ts";
import { createBucket, type Bucket } from "../nats/streams/buckets.ts";
import { ensureTopology, orUnavailable } from "../nats/streams/topology.ts";
import type { EndpointValidation } from "./authorization/endpoint-validation.ts";
import { createPings, type Pings } from "./ping/ping.ts";
import type { Pods } from "../pods/pods.ts";
import { createRouter, type Router } from "./routing/router.ts";
import { createEngineContext, createNonce, type EngineContext, type WebhookEngineDeps } from "./engine-context.ts";
import { createEventReads, type EventReads } from "./history/event-reads.ts";
import { createBackpressure, type Backpressure } from "./ingest/backpressure.ts";
import { createIdempotencyKeys, type IdempotencyKeys } from "./ingest/idempotency-keys.ts";
import { serveIngestSubject } from "./ingest/ingest-nats.ts";
import { EventContracts } from "./ingest/event-contracts.ts";
import { createCheckEvent, createIngest, type CheckEvent, type Ingest } from "./ingest/ingest.ts";
import { createTakenIds } from "./ingest/event-ids.ts";
import { leaderKey, startBackground, type MaintenanceJob } from "./maintenance/background-loops.ts";
import { createMaintenanceJobs } from "./maintenance/maintenance-jobs.ts";
import { createRunningPartners } from "./maintenance/end-removed.ts";
import { createStreamFill, createStreamWatch, type StreamWatch } from "./maintenance/stream-watch.ts";
import { ConfiguredPartners, defaultOwnLanesMax } from "./partners/configured-partners.ts";
import { createEventTypes, type EventTypes } from "./history/event-types.ts";
import { readLastFailure } from "./history/last-failure.ts";
import { createPartnerList, type PartnerList } from "./history/partner-list.ts";
import { createLiveStates, liveStateOf, type LiveState, type LiveStates } from "./live/live-state.ts";
import { createPartnerDetails, type PartnerDetails } from "./live/partner-details.ts";
import { createPartnerOverview, type PartnerOverview } from "./live/partner-overview.ts";
import type { DisabledPartners } from "./partners/partner-holds.ts";
import { createDeadLettersApi, type DeadLettersApi } from "./replay/dead-letters-api.ts";
import { createReplayStore, type ReplayStore } from "./replay/replay-job.ts";
import { createReplays, type Replays } from "./replay/replays.ts";
import { createReplayRunner } from "./replay/runner.ts";
import { publishedKeys, type PublishedKeys } from "./signing/keys.ts";
import { podKey } from "./workers/heartbeats.ts";
import { LaneOwnership } from "./workers/lane-ownership.ts";
import { Lanes, serveHolds } from "./workers/lane-workers.ts";
import { createPromotions, type Promotions } from "./workers/promotions.ts";

/** Heartbeats are sent twice a second. */
const silentMsMax = 10_000;

/**
 * Creates what is missing in JetStream, applies the configuration and begins to route and deliver.
 *
 * @throws JetStreamUnavailable or StreamsLost before anything is created, so that the start may be repeated
 * @throws Error in a sentence for people when NATS cannot be used
 */
export async function createWebhookEngine(deps: WebhookEngineDeps): Promise<WebhookEngine> {
  const { nats, settings, log, streamRecord } = deps;
  const { layout, watch } = await orUnavailable(async () => {
    const found = await ensureTopology(nats, settings.streams, streamRecord);
    return { layout: found, watch: await createStreamWatch(nats, found, log, streamRecord) };
  });
  const engine = new WebhookEngine(deps, layout, watch);
  await engine.start();
  return engine;
}

/** True when the engine can work; `detail` says why not. */
interface EngineHealth {
  readonly ok: boolean;
  readonly detail?: string;
}

/** The webhook half: stores events and delivers each to the partners that subscribe to it. */
export class WebhookEngine {
  /** Stores one event; resolves only after JetStream has it. @throws ApiError */
  readonly ingest: Ingest;
  /** Checks one event as {@link ingest} does, and stores nothing. @throws ApiError */
  readonly checkEvent: CheckEvent;
  /** Events, their deliveries and the use of event ids, for callers. */
  readonly history: EventReads;
  /** Declared event types, for callers. */
  readonly eventTypes: EventTypes;
  /** Configured partners, for callers. */
  readonly partnerList: PartnerList;
  /** Configured partners with their health and figures, for callers. */
  readonly partnerOverview: PartnerOverview;
  /** One partner with its live state, for callers. */
  readonly partnerDetails: PartnerDetails;
  /** Test events for one partner. */
  readonly pings: Pings;
  /** Replays and redrives. */
  readonly replays: Replays;
  readonly deadLetters: DeadLettersApi;
  /** Partners that responded with 410. */
  readonly disabledPartners: DisabledPartners;
  /** Responses to requests by their `Idempotency-Key`. */
  readonly idempotencyKeys: IdempotencyKeys;
  /** The pods with a recent heartbeat, by the names that they have in subjects. */
  readonly pods: Pick<Pods, "own" | "live">;
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
  readonly #jobs: readonly MaintenanceJob[];
  readonly #backpressure: Backpressure;
  readonly #contracts: EventContracts;
  #stopBackground: () => void = () => undefined;
  #stopSubject: () => Promise<void> = () => Promise.resolve();
  #stopHolds: () => Promise<void> = () => Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(deps: WebhookEngineDeps, layout: Layout, streamWatch: StreamWatch) {
    const { nats, settings, podId, log } = deps;
    const { ownLanesMax = defaultOwnLanesMax(settings.streams.replicas) } = settings.delivery;
    this.#deps = deps;
    this.#layout = layout;
    this.#streamWatch = streamWatch;
    setMaxListeners(0, this.#ending.signal);
    this.#promotions = createPromotions(this.#bucket("promotedPartners"), ownLanesMax);
    this.#partners = new ConfiguredPartners(deps.config, ownLanesMax, () => this.#promotions.keys);
    this.#ownership = new LaneOwnership({
      bucket: this.#bucket("pods"),
      clock: nats.clock,
      leases: nats.leases,
      podId,
      log,
      held: () => this.#lanes.held(),
      onChange: () => this.#lanes.reconcile(),
      onBeat: () => this.#lanes.refresh(),
      onLapse: () => this.#lanes.renew(),
    });
    this.pods = { own: podKey(podId), live: () => this.#ownership.livePods() };
    this.#context = createEngineContext(deps, {
      layout,
      partners: this.#partners,
      isOwn: ({ lane }) => this.#ownership.isOwner(lane),
      ending: this.#ending.signal,
    });
    this.#lanes = new Lanes({ context: this.#context, ownership: this.#ownership, promotions: this.#promotions });
    this.#router = createRouter(this.#context, this.#lanes);
    const replayStore = createReplayStore(this.#bucket("replays"));
    this.history = createEventReads(this.#context);
    this.partnerList = createPartnerList(this.#context);
    const { all, declared } = this.#partners;
    this.eventTypes = createEventTypes({ partners: all, declared, now: this.#context.now });
    const live = this.#createLiveStates();
    const { configFolder } = deps;
    this.partnerOverview = createPartnerOverview(this.partnerList, { ...this.#context, live, configFolder });
    this.partnerDetails = createPartnerDetails({
      list: this.partnerList,
      live,
      overview: this.partnerOverview,
      lastFailure: (label, caller) => readLastFailure(this.#context, label, caller),
      configFolder,
    });
    this.pings = createPings({ ...this.#context, list: this.partnerList, router: this.#router, nonce: createNonce() });
    this.replays = createReplays(this.#context, replayStore);
    this.disabledPartners = this.#context.disabled;
    this.deadLetters = createDeadLettersApi(this.#context);
    this.idempotencyKeys = createIdempotencyKeys(this.#bucket("idempotency"), this.#context.now);
    this.#backpressure = createBackpressure(this.#context.events, settings.streams.events.maxBytes, log);
    const { metrics, now } = this.#context;
    this.#contracts = new EventContracts({ undeclared: settings.events.undeclared, metrics, log, now });
    this.ingest = this.#createIngest();
    const { personalData, events: ids } = settings;
    const { events } = this.#context;
    this.checkEvent = createCheckEvent({ events, personalData, ids, contracts: this.#contracts });
    this.#jobs = this.#createJobs(replayStore);
    this.apply(deps.config, deps.configHash);
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
    this.#stopHolds = serveHolds(nats, this.#layout, this.pods.own, this.#lanes);
    this.#lanes.start();
    this.#stopBackground = startBackground({
      context: this.#context,
      router: this.#router,
      lanes: this.#lanes,
      ownership: this.#ownership,
      streamWatch: this.#streamWatch,
      deliveriesBytesMax: settings.streams.deliveries.maxBytes,
      polls: [
        () => this.#context.backlogs.poll(),
        () => this.#backpressure.poll(),
        () => this.#context.writes.poll(),
        () => this.#followPromotions(),
        createStreamFill({ nats, layout: this.#layout, settings: settings.streams, metrics: this.#context.metrics }),
      ],
      jobs: this.#jobs,
    });
    this.#stopSubject = serveIngestSubject({ nats, layout: this.#layout, ingest: this.ingest, log });
  }

  /**
   * Replaces the configuration. Deliveries to unchanged partners are not interrupted. @default the same again
   * @param hash of the configuration
   */
  apply(config?: RuntimeConfig, hash?: string): void {
    if (config !== undefined) this.#context.partnerMetrics.configured(config.partners);
    this.#partners.apply(config, hash);
    if (config !== undefined) this.#contracts.apply(this.#partners.declared());
    this.#router.use(this.#partners.table());
    this.#lanes.apply(this.#partners.all());
  }

  /** The public keys of a partner (`namespace/name`) that have not ended; none for a partner that does not exist. */
  publicKeys(partner: string): PublishedKeys {
    const signers = this.#partners.all().find(({ label }) => label === partner)?.signers ?? [];
    return publishedKeys(signers, this.#context.now());
  }

  /** Results of endpoint validation, for the partners whose lanes this pod owns. */
  endpointValidations(): readonly (EndpointValidation & { readonly partner: PartnerConfig })[] {
    return this.#partners.all().flatMap((partner) => {
      if (partner.config.endpoint.verification === undefined || !this.#ownership.isOwner(partner.lane)) return [];
      const result = this.#context.validations.resultOf(partner);
      return result === undefined ? [] : [{ ...result, partner: partner.config }];
    });
  }

  /** Describes lost streams, and those that store nothing; undefined while all do. */
  get streamsLoss(): string | undefined {
    return this.#streamWatch.loss ?? this.#context.writes.fault;
  }

  health(): EngineHealth {
    if (!this.#deps.nats.isConnected()) return { ok: false, detail: "no connection to NATS" };
    if (this.streamsLoss !== undefined) return { ok: false, detail: this.streamsLoss };
    return this.#ownership.silentMs() > silentMsMax
      ? { ok: false, detail: "JetStream does not respond" }
      : { ok: true };
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
    const drained = Promise.all([this.#router.stop(drainMs), this.#lanes.stop(drainMs)]);
    await Promise.all([drained, this.#ownership.leave(drained)]);
    this.#ending.abort();
    await this.#stopHolds();
    this.#stopBackground();
    await this.#context.sender.close();
  }

  #bucket(name: keyof Layout["buckets"]): Bucket {
    return createBucket(this.#deps.nats, this.#layout.buckets[name]);
  }

  #createLiveStates(): LiveStates {
    return createLiveStates({
      peers: this.#deps.peers,
      livePods: () => this.pods.live(),
      own: this.pods.own,
      here: (key) => this.#liveState(key),
      now: this.#context.now,
    });
  }

  /** The live state of a partner; undefined when this pod does not own its lane. */
  #liveState(key: string): LiveState | undefined {
    const partner = this.#partners.all().find((one) => one.key === key);
    if (partner === undefined || !this.#ownership.isOwner(partner.lane)) return undefined;
    const { breaker, inFlight } = this.#lanes.stateOf(partner);
    const { figures, now } = this.#context;
    return liveStateOf(breaker, inFlight, figures.of(partner), now());
  }

  #createIngest(): Ingest {
    const { nats, settings } = this.#deps;
    const { events, metrics, spans } = this.#context;
    return createIngest({
      events,
      personalData: settings.personalData,
      isFull: () => this.#backpressure.isFull,
      isConnected: () => nats.isConnected() && this.#streamWatch.loss === undefined,
      nonce: createNonce(),
      metrics,
      spans,
      ids: settings.events,
      contracts: this.#contracts,
      onTaken: createTakenIds(this.#context),
    });
  }

  #createJobs(replayStore: ReplayStore): readonly MaintenanceJob[] {
    const { nats, settings, peers, log } = this.#deps;
    const running = createRunningPartners({
      livePods: () => this.pods.live(),
      own: this.pods.own,
      has: (key) => this.#partners.mayExist(key) || this.#lanes.isBusyWith(key),
      log,
      peers,
    });
    const isLeader = (): boolean => this.#ownership.isCurrent() && this.#ownership.isOwner(leaderKey);
    return createMaintenanceJobs({
      context: this.#context,
      router: this.#router,
      replays: () => createReplayRunner({ ...this.#context, isLeader }, replayStore),
      nats,
      layout: this.#layout,
      settings,
      known: this.#streamWatch.known,
      isLeader,
      running,
    });
  }

  async #followPromotions(): Promise<void> {
    if (this.#partners.all().some(({ lane, key }) => lane !== key) && (await this.#promotions.poll())) this.apply();
  }
}
