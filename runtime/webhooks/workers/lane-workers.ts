// Workers: lane ownership, pulls and the limits of each partner. The rules of settlement are in other rooms.
import { FairPlaces, Semaphore } from "../../../limits/fair-places.ts";
import type { DeliveryToAttempt } from "../delivery/attempt-once.ts";
import type { DeliveryContext, HeldEvent } from "../delivery/delivery-context.ts";
import { routingMax } from "../../nats/streams/events-stream.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { isSharedLane, type Partner } from "../partners/partner.ts";
import { holdsPod, readHoldMessage } from "../partners/partner-holds.ts";
import { closedBreaker, type BreakerState } from "../settlement/circuit-breaker.ts";
import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import type { Layout } from "../../nats/layout.ts";
import { serveSubject } from "../../nats/messages/pod-messages.ts";
import type { LaneOwnership } from "./lane-ownership.ts";
import type { LaneWorker, SharedByWorkers } from "./lane-worker.ts";
import { OwnLane } from "./own-lane.ts";
import type { Promotions } from "./promotions.ts";
import { createSharedLane } from "./shared-lane.ts";
import { LaneActivity } from "./turn-starts.ts";

interface LanesDeps {
  readonly context: DeliveryContext;
  readonly ownership: Pick<
    LaneOwnership,
    "isOwner" | "isCurrent" | "isNamed" | "confirmed" | "othersEndMs" | "revision" | "livePods" | "allPodsSupportDirect"
  >;
  readonly promotions: Pick<Promotions, "promote">;
}

/**
 * A server does not respond in time when hundreds of consumers are created at once. Lanes wait in order, each for one
 * change at a time, so none delays the others by more than its own change.
 */
const consumerChangesMax = 16;
/** Messages in work in this pod, shared fairly by its lanes: 8 MiB with bodies of 2 KiB. */
const inWorkMax = 4_096;
/**
 * Attempts straight from events over all pods, each of which holds its event: three quarters of the events in flight.
 * Slow endpoints therefore leave a quarter for routing. Busy partners share them fairly.
 */
const directMax = (routingMax * 3) / 4;
/** Longer than the longest attempt. */
const retireMsMax = 120_000;

/**
 * The workers of this pod: one per partner with its own lane, one per shared lane. They pull nothing before {@link
 * start}.
 */
export class Lanes {
  readonly #deps: LanesDeps;
  readonly #own = new Map<string, OwnLane>();
  readonly #shared = new Map<string, LaneWorker>();
  /** Workers whose lane is gone and whose attempts have not ended yet. */
  readonly #retired = new Set<LaneWorker>();
  readonly #common: SharedByWorkers;
  #partners: ReadonlyMap<string, Partner> = new Map();
  #leftovers: ReadonlySet<string> = new Set();
  #isRunning = false;

  constructor(deps: LanesDeps) {
    this.#deps = deps;
    this.#common = {
      consumerChanges: new Semaphore(consumerChangesMax),
      budget: new FairPlaces(inWorkMax),
      inWork: new Map(),
      direct: new Map(),
      directSlots: new FairPlaces(0),
      activity: new LaneActivity(),
      ownership: deps.ownership,
    };
  }

  /** Replaces the partners. Pulls of a removed partner end; its stored messages stay. */
  apply(partners: readonly Partner[]): void {
    this.#partners = new Map(partners.map((partner) => [partner.key, partner]));
    for (const [key, { worker }] of this.#own) {
      if (this.#partners.get(key)?.lane !== key) {
        this.#own.delete(key);
        this.#retire(worker);
      }
    }
    this.reconcile();
  }

  /** Lets workers pull from now on. */
  start(): void {
    this.#isRunning = true;
    this.reconcile();
  }

  /** Makes a first attempt straight from its event; undefined when the delivery must be stored first. */
  attemptDirectly(delivery: DeliveryRecord, event: HeldEvent): Promise<boolean> | undefined {
    const { ownership } = this.#deps;
    return ownership.isCurrent() ? this.#own.get(delivery.partner)?.attemptDirectly(delivery, event) : undefined;
  }

  /** Starts and stops pulls after the ownership of lanes changed. */
  reconcile(): void {
    const { ownership } = this.#deps;
    const places = Math.floor(directMax / ownership.livePods().length);
    this.#common.directSlots.resize(ownership.allPodsSupportDirect() ? places : 0);
    const lanes = new Set<string>();
    for (const [key, partner] of this.#partners) {
      if (partner.lane === key) this.#reconcileOwn(partner);
      else lanes.add(partner.lane);
    }
    this.#reconcileShared(new Set([...lanes, ...this.#leftovers]));
  }

  /** Starts over as the owner of its lanes, because other pods may have owned them while this one stood still. */
  renew(): void {
    this.#own.forEach((own) => own.renew());
    this.reconcile();
  }

  /** Takes the message of a hold: the lane may have moved here before the attempt that found it ended. */
  learn(text: string): void {
    const found = readHoldMessage(text, (key) => this.#partners.get(key));
    if (found === undefined) return;
    const { lane, key } = found.partner;
    const worker = lane === key ? this.#own.get(key)?.worker : this.#shared.get(lane);
    worker?.learn(found.partner, found.hold);
  }

  /** Ends the waits for previous owners that have nothing under way any more. */
  refresh(): void {
    this.#own.forEach((own) => own.refresh());
  }

  /** Keys of the partners whose own lanes this pod may pull, or for whom it has deliveries in work. */
  held(): ReadonlySet<string> {
    const owned = this.#isRunning ? [...this.#own].filter(([, own]) => own.isOwned).map(([key]) => key) : [];
    return new Set([...owned, ...this.#inWork().map(({ delivery }) => delivery.partner)]);
  }

  /**
   * Finds lanes that are not published to any more but may still hold messages, and empties them. Also finds lanes that
   * are pulled without a consumer: JetStream never responds to a request that arrived while the consumer was deleted.
   */
  async lookForLeftovers(): Promise<void> {
    // The consumers of the lanes pulled now were created before the list is read.
    const pulled = this.#current().map(([lane, worker]) => ({ lane, worker, queues: worker.queues }));
    const found = await this.#deps.context.deliveries.lanes();
    for (const { lane, worker, queues } of pulled)
      worker.startOver(queues.filter((queue) => found.get(lane)?.includes(queue) !== true));
    const used = this.#used();
    // A maintenance job removes the lanes of removed partners.
    const isKnown = (lane: string): boolean => isSharedLane(lane) || this.#partners.has(lane);
    this.#leftovers = new Set([...found.keys()].filter((lane) => !used.has(lane) && isKnown(lane)));
    this.reconcile();
    for (const [lane, own] of this.#own) if (found.get(lane)?.includes("retry") === true) own.findRetries();
    for (const lane of this.#leftovers) {
      // An edit may have given the lane back to its partner during the removal of the previous one.
      if (!this.#used().has(lane) && this.#deps.ownership.isOwner(lane))
        await this.#deps.context.deliveries.removeLane(lane);
    }
  }

  #used(): ReadonlySet<string> {
    return new Set([...this.#partners.values()].map(({ lane }) => lane));
  }

  keepAlive(): void {
    this.#all().forEach((worker) => worker.keepAlive());
  }

  /** True when an attempt to the partner with this key is under way or about to be, also after its removal. */
  isBusyWith(key: string): boolean {
    return this.#inWork().some(({ delivery }) => delivery.partner === key);
  }

  /** The circuit breaker of a partner whose lane this pod owns, and the messages that are in work for it. */
  stateOf({ key, lane }: Partner): { readonly breaker: BreakerState; readonly inFlight: number } {
    const worker = lane === key ? this.#own.get(key)?.worker : this.#shared.get(lane);
    const inFlight = this.#inWork().filter(({ delivery }) => delivery.partner === key).length;
    return { breaker: worker?.breakerOf(key) ?? closedBreaker, inFlight };
  }

  /** Attempts straight from events that are under way, by lane. */
  direct(): ReadonlyMap<string, number> {
    const lanes = Map.groupBy(this.#common.direct.values(), ({ delivery }) => delivery.partner);
    return new Map([...lanes].map(([lane, all]) => [lane, all.length]));
  }

  /** Ends all pulls; resolves when the work in flight has ended, or after the bound. */
  async stop(drainMs: number): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#all().map((worker) => worker.stop(drainMs)));
  }

  /** Deliveries in work, stored or not. */
  #inWork(): readonly DeliveryToAttempt[] {
    return [...this.#common.inWork.values(), ...this.#common.direct.values()];
  }

  #reconcileOwn(partner: Partner): void {
    const { context, ownership } = this.#deps;
    const own = this.#own.get(partner.key) ?? new OwnLane(context, partner, this.#common);
    this.#own.set(partner.key, own);
    const { state, held } = partner.config;
    const isOwner = this.#isRunning && ownership.isOwner(partner.lane);
    own.set(partner, isOwner && state === "Active" && held === undefined, isOwner);
  }

  #reconcileShared(wanted: ReadonlySet<string>): void {
    for (const lane of wanted) {
      const worker = this.#shared.get(lane) ?? this.#createShared(lane);
      this.#shared.set(lane, worker);
      worker.setPulling(this.#isRunning && this.#deps.ownership.isOwner(lane));
    }
    for (const [lane, worker] of this.#shared) {
      if (!wanted.has(lane)) {
        this.#shared.delete(lane);
        this.#retire(worker);
      }
    }
  }

  #createShared(lane: string): LaneWorker {
    const { context, promotions } = this.#deps;
    const partnerOf = (key: string): Partner | undefined => this.#partners.get(key);
    return createSharedLane({ context, lane, partnerOf, promotions }, this.#common);
  }

  #retire(worker: LaneWorker): void {
    this.#retired.add(worker);
    // Its attempts end by their own time limit; until then their messages are kept alive.
    void worker.stop(retireMsMax).finally(() => this.#retired.delete(worker));
  }

  /** Workers by lane. */
  #current(): readonly (readonly [string, LaneWorker])[] {
    return [...[...this.#own].map(([lane, { worker }]) => [lane, worker] as const), ...this.#shared];
  }

  #all(): readonly LaneWorker[] {
    return [...this.#current().map(([, worker]) => worker), ...this.#retired];
  }
}

/** Listens to the holds that all pods find. @returns a function that ends it  @param own name of this pod */
export function serveHolds(
  nats: NatsConnectionHandle,
  { podSubject }: Pick<Layout, "podSubject">,
  own: string,
  lanes: Lanes,
): () => Promise<void> {
  return serveSubject(nats, podSubject(holdsPod), own, ({ data }) => lanes.learn(Buffer.from(data).toString()));
}
