import { laneQueues, type LaneQueue } from "../../nats/layout.ts";
import type { Pull } from "../../nats/messages/pull.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import { unreadableDeadLetter } from "../records/dead-letter-record.ts";
import { storeDeadLetter } from "../delivery/apply-settlement.ts";
import type { DeliveryContext, Work } from "../delivery/delivery-context.ts";
import { parseDeliveryRecord } from "../records/delivery-record.ts";
import { deliver } from "../delivery/deliver.ts";
import { createInFlight, type InFlight } from "../delivery/in-flight.ts";
import { moveToLane, defer } from "../delivery/move-delivery.ts";
import type { Partner } from "../partners/partner.ts";
import { PartnerSession, type HoldReason } from "./partner-session.ts";
import type { SharedByWorkers } from "./own-lane-worker.ts";
import type { Promotions } from "./promotions.ts";
import { createRedeliveryCheck, type RedeliveryCheck } from "../delivery/redelivery-check.ts";

/** Pulls a lane that many partners share, or the lane of one that now shares another, while this pod is its home. */
export interface SharedLane {
  setPulling(isPulling: boolean): void;
  keepAlive(): void;
  /** What is pulled now. */
  readonly queues: readonly LaneQueue[];
  /** The server has no consumers of these queues, which were pulled, and says nothing: they are made again. */
  startOver(queues: readonly LaneQueue[]): void;
  stop(drainMs: number): Promise<void>;
}

interface SharedLaneDeps extends SharedByWorkers {
  readonly context: DeliveryContext;
  readonly lane: string;
  /** The partner of the configuration with this token. */
  readonly partnerOf: (token: string) => Partner | undefined;
  readonly promotions: Pick<Promotions, "promote">;
}

/** Messages handed out of a shared lane at once, over all its partners. */
const ackPendingMax: Readonly<Record<LaneQueue, number>> = { first: 256, retry: 64 };
const creditMax = 64;
/** How long a message whose partner is not known here, or may not be sent to, is put aside. */
const deferMs = 30_000;
const deferMsMin = 1_000;
const retryPauseMs = 1_000;
/** What passes by itself in a moment is no reason to promote. */
const lasting: ReadonlySet<HoldReason> = new Set(["paused", "disabled", "sick", "busy", "rate"]);

/** Creates a lane that pulls nothing until it is told to. */
export function createSharedLane(deps: SharedLaneDeps): SharedLane {
  return new Lane(deps);
}

class Lane implements SharedLane {
  readonly #deps: SharedLaneDeps;
  readonly #sessions = new Map<string, PartnerSession>();
  readonly #pulls = new Map<LaneQueue, Pull>();
  readonly #inFlight: InFlight<Work>;
  #isWanted = false;
  #work: Promise<void> = Promise.resolve();

  constructor(deps: SharedLaneDeps) {
    this.#deps = deps;
    this.#inFlight = createInFlight((error, work) => this.#logFailure(error, work), deps.inWork, deps.context.clock);
  }

  setPulling(isPulling: boolean): void {
    if (isPulling !== this.#isWanted) {
      this.#isWanted = isPulling;
      this.#reconcileSoon();
    }
  }

  keepAlive(): void {
    this.#inFlight.keepAlive();
    this.#pulls.forEach((pull) => pull.watch());
  }

  get queues(): readonly LaneQueue[] {
    return [...this.#pulls.keys()];
  }

  startOver(queues: readonly LaneQueue[]): void {
    queues.forEach((queue) => this.#pulls.get(queue)?.startOver());
  }

  async stop(drainMs: number): Promise<void> {
    this.setPulling(false);
    await this.#work;
    await this.#inFlight.idle(drainMs);
  }

  #reconcileSoon(): void {
    this.#work = this.#work.then(async () => {
      await this.#deps.turns.acquire();
      try {
        await this.#reconcile();
      } catch (error) {
        this.#deps.context.log.warn(
          { err: error, lane: this.#deps.lane },
          "consumers of the lane not ready, trying again",
        );
        this.#deps.context.clock.after(retryPauseMs, () => this.#reconcileSoon());
      } finally {
        this.#deps.turns.release();
      }
    });
  }

  async #reconcile(): Promise<void> {
    if (!this.#isWanted) {
      const pulls = [...this.#pulls.values()];
      this.#pulls.clear();
      await Promise.all(pulls.map((pull) => pull.stop()));
      this.#sessions.forEach((session) => session.leave());
      return;
    }
    if (this.#pulls.size === 0) this.#sessions.forEach((session) => session.comeBack());
    for (const queue of laneQueues.filter((one) => !this.#pulls.has(one))) {
      await this.#ensure(queue);
      this.#pulls.set(queue, this.#startPull(queue));
    }
  }

  #ensure(queue: LaneQueue): Promise<void> {
    const { context, lane } = this.#deps;
    const metadata = { lane };
    return context.deliveries.ensureConsumer({ queue, lane, maxAckPending: ackPendingMax[queue], metadata });
  }

  #startPull(queue: LaneQueue): Pull {
    const { context, lane, budget } = this.#deps;
    const redeliveryCheck = createRedeliveryCheck(() => ackPendingMax[queue]);
    return context.deliveries.pull(queue, lane, {
      credit: () => Math.min(creditMax, ackPendingMax[queue], budget.share()),
      onMessage: (message) => this.#accept(message, redeliveryCheck),
      onOpen: () => redeliveryCheck.require(),
      repair: () => this.#ensure(queue),
    });
  }

  #accept(message: PulledMessage, redeliveryCheck: RedeliveryCheck): void {
    const delivery = parseDeliveryRecord(message);
    if (delivery === undefined) {
      void this.#storeAsDeadLetter(message);
      return;
    }
    const start = (held: PulledMessage): Work => ({
      delivery,
      redeliveryCheck,
      message: held,
      sinceMs: this.#deps.context.clock.nowMs(),
    });
    this.#inFlight.take(message, start, (work) => this.#run(work));
  }

  async #run(work: Work): Promise<void> {
    const { budget, context, partnerOf } = this.#deps;
    budget.enter();
    try {
      const partner = partnerOf(work.delivery.partner);
      if (!this.#isWanted || partner === undefined) {
        // It belongs to a partner that this pod has not heard of yet, or whose leavings are about to go.
        await (partner === undefined && this.#isWanted ? this.#setAside(work) : work.message.release());
      } else if (partner.lane === this.#deps.lane) {
        await this.#deliver(work, partner);
      } else {
        await moveToLane(context, work, partner);
      }
    } finally {
      budget.leave();
    }
  }

  async #deliver(work: Work, partner: Partner): Promise<void> {
    const session = this.#sessionOf(partner);
    const reason = await session.holdReason();
    if (reason !== undefined) {
      await this.#hold(work, session, reason);
      return;
    }
    session.begin();
    try {
      if (!(await session.limiter.enter())) {
        await this.#hold(work, session, "sick");
      } else if (!(await this.#inside(work, session))) {
        await this.#hold(work, session, "paused");
      }
    } finally {
      session.end();
    }
  }

  /** False when nothing may be sent any more. */
  async #inside(work: Work, session: PartnerSession): Promise<boolean> {
    const { metrics } = this.#deps.context;
    metrics.inFlight.inc();
    try {
      return (await deliver(this.#deps.context, work, session.partner, session)) === "done";
    } finally {
      metrics.inFlight.dec();
      session.limiter.leave();
    }
  }

  /** What cannot be sent now must not stand in the way: its partner gets a lane of its own, or it is put aside. */
  async #hold(work: Work, session: PartnerSession, reason: HoldReason): Promise<void> {
    const { context, promotions } = this.#deps;
    const { partner, limiter } = session;
    if (lasting.has(reason) && (await promotions.promote(partner.key))) {
      await moveToLane(context, work, { ...partner, lane: partner.key });
      return;
    }
    const waitMs = reason === "rate" || reason === "busy" ? deferMsMin + limiter.tokensInMs(1) : deferMs;
    await defer(context, work, partner, context.now() + waitMs * (1 + context.random()));
  }

  async #setAside(work: Work): Promise<void> {
    const { context, lane } = this.#deps;
    await defer(context, work, { lane, lanes: [lane], label: work.delivery.partner }, context.now() + deferMs);
  }

  async #storeAsDeadLetter(message: PulledMessage): Promise<void> {
    const { context, lane } = this.#deps;
    const { subject, seq, data } = message;
    context.log.error({ subject, seq }, "a message of the deliveries stream is no delivery");
    try {
      await storeDeadLetter(context, unreadableDeadLetter(lane, subject, seq, data), { block: () => undefined });
      message.ack();
    } catch (error) {
      context.log.error({ err: error, subject, seq }, "not stored as a dead letter");
    }
  }

  #logFailure(error: unknown, { delivery }: Work): void {
    const { context, lane } = this.#deps;
    if (!context.ending.aborted) {
      const { eventId, tenant, attempt } = delivery;
      context.log.error({ err: error, eventId, tenant, attempt, lane }, "attempt failed here");
    }
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
