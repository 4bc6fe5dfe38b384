import { FairPlaces } from "../../../limits/fair-places.ts";
import { laneQueues, parseDelivery, type LaneQueue } from "../../nats/layout.ts";
import type { DeliveryContext, Work } from "../delivery/delivery-context.ts";
import { type Partner, isSharedLane } from "../partners/partner.ts";
import type { Hold } from "../partners/partner-holds.ts";
import type { BreakerState } from "../settlement/circuit-breaker.ts";
import { LaneWorker, type LanePolicy, type SharedByWorkers } from "./lane-worker.ts";
import { PartnerSession, type HoldReason } from "./partner-session.ts";
import type { Promotions } from "./promotions.ts";
import type { DeliveryToStore, HeldMessage } from "../../nats/streams/deliveries-stream.ts";
import type { PublishResult } from "../../nats/messages/publish.ts";
import { deliveryMessage } from "../records/delivery-record.ts";
import { ensureRetries } from "./own-lane-consumers.ts";
import { storeStep } from "../delivery/store-step.ts";
import { isElsewhere } from "../delivery/redelivery.ts";

interface SharedLaneDeps {
  readonly context: DeliveryContext;
  readonly lane: string;
  /** The configured partner with this key. */
  readonly partnerOf: (key: string) => Partner | undefined;
  readonly promotions: Pick<Promotions, "promote">;
}

/** Messages of a shared lane in flight at once, over all its partners. */
const ackPendingMax: Readonly<Record<LaneQueue, number>> = { first: 256, retry: 64 };
const creditMax = 64;
/** One busy partner gets a quarter of the messages in flight. Six of them leave 46 of 256 for others. */
const reserve = 3;
/** Longest deferral of a message whose partner is unknown here, or may not be sent to. */
const deferMs = 30_000;
const deferMsMin = 1_000;
/** Reasons that last long enough to promote the partner. */
const lasting: ReadonlySet<HoldReason> = new Set(["paused", "disabled", "open", "busy", "rate"]);
/** Reasons that end by themselves, at a time that the limits of the partner know. */
const ending: ReadonlySet<HoldReason> = new Set(["open", "busy", "rate"]);

/** The target lane, and the lanes that may hold messages of the delivery. */
type MovePlace = Pick<Partner, "lane" | "lanes" | "label">;

/** Stores a step of a delivery in the place of the held message. */
type Store = (delivery: DeliveryToStore, held: HeldMessage) => Promise<PublishResult>;

/**
 * Creates the worker of a lane that many partners share, or of the former lane of a partner that now shares one. A
 * partner that cannot be sent to is promoted to its own lane, or its message is deferred.
 */
export function createSharedLane(deps: SharedLaneDeps, shared: SharedByWorkers): LaneWorker {
  return new SharedLane(deps, shared).worker;
}

class SharedLane implements LanePolicy {
  readonly hasOnePartner = false;
  readonly worker: LaneWorker;
  readonly #deps: SharedLaneDeps;
  readonly #sessions = new Map<string, PartnerSession>();
  /** Busy partners share the messages in flight of each queue, so that slow ones leave places for the others. */
  readonly #places: Readonly<Record<LaneQueue, FairPlaces>> = {
    first: new FairPlaces(ackPendingMax.first, undefined, reserve),
    retry: new FairPlaces(ackPendingMax.retry, undefined, reserve),
  };

  constructor(deps: SharedLaneDeps, shared: SharedByWorkers) {
    this.#deps = deps;
    this.worker = new LaneWorker(deps.context, shared, this);
  }

  get lane(): string {
    return this.#deps.lane;
  }

  get logFields(): { readonly lane: string } {
    return { lane: this.#deps.lane };
  }

  async reconcile(): Promise<void> {
    const pulled = this.worker.queues;
    if (!this.worker.isPulling) {
      await this.worker.stopPulls(pulled);
      this.#sessions.forEach((session) => session.release());
      return;
    }
    if (pulled.length === 0) await this.#resumePaused();
    for (const queue of laneQueues.filter((one) => !pulled.includes(one))) {
      await this.ensureConsumer(queue);
      this.worker.startPulls([queue]);
    }
  }

  ensureConsumer(queue: LaneQueue): Promise<void> {
    const { context, lane } = this.#deps;
    const metadata = { lane };
    return context.deliveries.ensureConsumer({ queue, lane, maxAckPending: ackPendingMax[queue], metadata });
  }

  credit(queue: LaneQueue): number {
    return Math.min(creditMax, ackPendingMax[queue]);
  }

  inFlightMax(queue: LaneQueue): number {
    return ackPendingMax[queue];
  }

  breakerOf(key: string): BreakerState | undefined {
    return this.#sessions.get(key)?.limiter.breaker;
  }

  learn(partner: Partner, hold: Hold): void {
    if (this.worker.isPulling) this.#sessionOf(partner).learn(hold);
  }

  block(): void {
    // The other partners of the lane continue.
  }

  async handle(work: Work): Promise<void> {
    const { context, lane, partnerOf } = this.#deps;
    const partner = partnerOf(work.delivery.partner);
    if (!this.worker.isPulling) work.message.release();
    else if (partner === undefined) {
      // The configuration of this pod does not have the partner yet, for at most a second, or no longer.
      await this.#deferBriefly(work, { lane, lanes: [lane], label: work.delivery.partner });
    } else if (partner.lane === lane) await this.#deliver(work, partner);
    else await moveToLane(context, work, partner);
  }

  async #deliver(work: Work, partner: Partner): Promise<void> {
    const session = this.#sessionOf(partner);
    const places = this.#places[queueOf(work)];
    const reason = (await session.holdReason()) ?? (places.tryTake(partner.key) ? undefined : "busy");
    if (reason !== undefined) {
      await this.#hold(work, session, reason);
      return;
    }
    try {
      if (!(await session.limiter.enter(work))) await this.#hold(work, session, "open");
      else if (!(await this.#attempt(work, session))) await this.#afterNoAttempt(work, session);
    } finally {
      places.release(partner.key);
    }
  }

  /** False when nothing may be sent now. A message of a lane that another pod owns is released. */
  async #attempt(work: Work, session: PartnerSession): Promise<boolean> {
    try {
      const confirmed = this.worker.confirmed();
      if (confirmed !== undefined) await confirmed;
      if (this.worker.isPulling) return await this.worker.attempt(work, session.partner, session);
      work.message.release();
      return true;
    } finally {
      session.limiter.leave(work);
    }
  }

  async #afterNoAttempt(work: Work, session: PartnerSession): Promise<void> {
    const { lane, partnerOf } = this.#deps;
    // The partner was removed, or got another lane.
    if (partnerOf(session.partner.key)?.lane !== lane) return this.handle(work);
    const reason = session.limiter.breaker.kind === "closed" ? await session.holdReason() : "open";
    if (reason !== undefined) await this.#hold(work, session, reason);
    // It was removed for a moment.
    else await this.#deferBriefly(work, session.partner);
  }

  /** Defers a message whose partner is unknown for a moment: one second, which doubles with each deferral. */
  #deferBriefly(work: Work, place: MovePlace): Promise<void> {
    const { context } = this.#deps;
    const waitMs = Math.min(deferMs, deferMsMin * 2 ** work.delivery.hop);
    return defer(context, work, place, context.now() + waitMs);
  }

  /** Frees the lane of a message that cannot be sent now: promotes its partner, or defers the message. */
  async #hold(work: Work, session: PartnerSession, reason: HoldReason): Promise<void> {
    const { context, promotions } = this.#deps;
    const { partner, limiter } = session;
    // The next owner of the partner, in its new lane, reads the pause.
    if (reason === "open") await context.holds.kept(partner.key);
    if (lasting.has(reason) && (await promotions.promote(partner.key))) {
      await moveToLane(context, work, { ...partner, lane: partner.key });
      return;
    }
    const soonMs = deferMsMin + Math.max(limiter.opensInMs(), limiter.tokensInMs(1));
    const waitMs = ending.has(reason) ? Math.min(deferMs, soonMs) : deferMs;
    await defer(context, work, partner, context.now() + waitMs * (1 + context.random()));
  }

  /** Takes over the pauses that the previous owner of the lane stored. */
  async #resumePaused(): Promise<void> {
    const { context, lane, partnerOf } = this.#deps;
    this.#sessions.forEach((session) => session.own());
    const partners = [...(await context.holds.keys())].map((key) => partnerOf(key));
    const paused = partners.filter((partner) => partner !== undefined).filter((partner) => partner.lane === lane);
    await Promise.all(paused.map((partner) => this.#sessionOf(partner).restore()));
  }

  #sessionOf(partner: Partner): PartnerSession {
    const { context, lane, partnerOf } = this.#deps;
    const find = (): Partner | undefined => {
      const now = partnerOf(partner.key);
      return now?.lane === lane ? now : undefined;
    };
    const session = this.#sessions.get(partner.key) ?? new PartnerSession(context, partner, find);
    this.#sessions.set(partner.key, session);
    session.use(partner);
    return session;
  }
}

function queueOf({ message }: Work): LaneQueue {
  return parseDelivery(message.subject)?.place === "retry" ? "retry" : "first";
}

/**
 * Moves a message without an attempt from another lane into its partner's lane. Such messages exist because the target
 * of a schedule is fixed while lanes change.
 *
 * @throws NoReplyError when the process must end first
 */
async function moveToLane(context: DeliveryContext, work: Work, partner: Partner): Promise<void> {
  if (!isSharedLane(partner.lane)) await ensureRetries(context, partner);
  await move(context, work, partner, (delivery, held) => context.deliveries.move(delivery, held));
}

/**
 * Republishes a message without an attempt for a later time, so that it takes no place in a shared lane.
 *
 * @param atMs Unix milliseconds by JetStream's clock
 * @throws NoReplyError when the process must end first
 */
async function defer(context: DeliveryContext, work: Work, place: MovePlace, atMs: number): Promise<void> {
  await move(context, work, place, (delivery, held) => context.deliveries.schedule(delivery, held, atMs));
}

/** Republishes the held message with one hop more and acknowledges it. */
async function move(context: DeliveryContext, work: Work, place: MovePlace, store: Store): Promise<void> {
  const { delivery, message } = work;
  await storeStep(context, {
    step: { ...delivery, hop: delivery.hop + 1 },
    heldSeq: message.seq,
    publish: (step, seq) => store(deliveryMessage(step, place.lane, message.data), { subject: message.subject, seq }),
    hasGoneOn: () => isElsewhere(context, delivery, place),
    partner: place.label,
    warning: "not moved yet",
  });
  work.message.ack();
}
