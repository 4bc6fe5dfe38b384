import type { FairPlaces, Semaphore } from "../../../limits/fair-places.ts";
import type { LaneQueue } from "../../nats/layout.ts";
import type { Pull } from "../../nats/messages/pull.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import { storeDeadLetter } from "../delivery/apply-settlement.ts";
import type { DeliveryToAttempt } from "../delivery/attempt-once.ts";
import { deliver, deliverDirectly } from "../delivery/deliver.ts";
import type { DeliveryContext, HeldEvent, LaneControl, Work } from "../delivery/delivery-context.ts";
import { createInFlight, type InFlight, createRedeliveryCheck, type RedeliveryCheck } from "../delivery/in-flight.ts";
import type { Partner } from "../partners/partner.ts";
import type { Hold } from "../partners/partner-holds.ts";
import { unreadableDeadLetter } from "../records/dead-letter-record.ts";
import { parseDeliveryRecord } from "../records/delivery-record.ts";
import type { BreakerState } from "../settlement/circuit-breaker.ts";
import type { LaneOwnership } from "./lane-ownership.ts";
import { type LaneActivity, TurnStarts } from "./turn-starts.ts";

/** State that all workers of a pod share. */
export interface SharedByWorkers {
  /** Limits how many workers change consumers at once. */
  readonly consumerChanges: Semaphore;
  /** Places of the messages in work in this pod, shared by the lanes. */
  readonly budget: FairPlaces;
  /** The messages in work, by stream sequence: two steps of one delivery may overlap. */
  readonly inWork: Map<number, Work>;
  /** The attempts straight from events that are under way, by delivery id. */
  readonly direct: Map<string, DeliveryToAttempt>;
  /** Places of the attempts straight from events in this pod, shared by the partners. */
  readonly directSlots: FairPlaces;
  readonly activity: LaneActivity;
  readonly ownership: Pick<LaneOwnership, "confirmed" | "isNamed" | "othersEndMs" | "revision">;
}

/** The part of a worker that depends on the kind of its lane: its own (`own-lane.ts`) or shared (`shared-lane.ts`). */
export interface LanePolicy {
  readonly lane: string;
  readonly hasOnePartner: boolean;
  /** Names the lane in log lines. */
  readonly logFields: Readonly<Record<string, string>>;
  /** Starts and stops pulls as {@link LaneWorker.isPulling} and the partners require. Runs never overlap. */
  reconcile(): Promise<void>;
  ensureConsumer(queue: LaneQueue): Promise<void>;
  /** Messages that may be requested ahead of those in work. */
  credit(queue: LaneQueue): number;
  /** Messages of a queue that JetStream may hold in flight at most. */
  inFlightMax(queue: LaneQueue): number;
  /** Attempts, holds or moves one delivery. */
  handle(work: Work): Promise<void>;
  /** The circuit breaker of a partner of the lane; undefined when it has had no message here. */
  breakerOf(key: string): BreakerState | undefined;
  /** Takes a hold that another pod, or another lane of this one, found. */
  learn(partner: Partner, hold: Hold): void;
  /** Reports that a dead letter cannot be stored, or is stored at last. */
  block(isBlocked: boolean): void;
}

const retryPauseMs = 1_000;

/** Pulls the messages of one lane while this pod owns it. The policy of the lane handles each delivery. */
export class LaneWorker {
  readonly #context: DeliveryContext;
  readonly #shared: SharedByWorkers;
  readonly #policy: LanePolicy;
  readonly #inFlight: InFlight<Work>;
  readonly #pulls = new Map<LaneQueue, Pull>();
  readonly #starts: TurnStarts;
  #isPulling = false;
  #waiting = 0;
  #reconciled: Promise<void> = Promise.resolve();

  /** Creates a worker that pulls nothing until {@link setPulling}. */
  constructor(context: DeliveryContext, shared: SharedByWorkers, policy: LanePolicy) {
    this.#context = context;
    this.#shared = shared;
    this.#policy = policy;
    this.#starts = new TurnStarts({
      isLimited: policy.hasOnePartner,
      lane: policy.lane,
      activity: shared.activity,
      clock: context.clock,
    });
    this.#inFlight = createInFlight((error, work) => this.#logFailure(error, work), shared.inWork, context.clock);
  }

  /** True when the lane is to be pulled. */
  get isPulling(): boolean {
    return this.#isPulling;
  }

  /** Attempts under way and messages that wait for one. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** First attempts that waited in JetStream when the last of them came. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The queues that are pulled now. */
  get queues(): readonly LaneQueue[] {
    return [...this.#pulls.keys()];
  }

  /** The circuit breaker of a partner of the lane; undefined when it has had no message here. */
  breakerOf(key: string): BreakerState | undefined {
    return this.#policy.breakerOf(key);
  }

  /** Takes a hold that another pod, or another lane of this one, found. */
  learn(partner: Partner, hold: Hold): void {
    this.#policy.learn(partner, hold);
  }

  /** Resolves when the reconciliations requested so far have ended. Never rejects. */
  get reconciled(): Promise<void> {
    return this.#reconciled;
  }

  setPulling(isPulling: boolean): void {
    if (isPulling !== this.#isPulling) {
      this.#isPulling = isPulling;
      this.reconcile();
    }
  }

  /** Requests a reconciliation. One runs at a time, and each reads the state at its own start. */
  reconcile(): void {
    this.#reconciled = this.#reconciled.then(() => this.#reconcileNow());
  }

  keepAlive(): void {
    this.#inFlight.keepAlive();
    this.#pulls.forEach((pull) => pull.watch());
  }

  /** Recreates the consumers of these queues: the server has lost them without reporting it to their pulls. */
  startOver(queues: readonly LaneQueue[]): void {
    queues.forEach((queue) => this.#pulls.get(queue)?.startOver());
  }

  /** Ends the pulls; resolves when the work in flight has ended, or after the bound. */
  async stop(drainMs: number): Promise<void> {
    this.setPulling(false);
    await this.#reconciled;
    await this.#inFlight.idle(drainMs);
  }

  /** Starts the pulls of these queues that do not run yet. */
  startPulls(queues: readonly LaneQueue[]): void {
    for (const queue of queues.filter((one) => !this.#pulls.has(one))) this.#pulls.set(queue, this.#startPull(queue));
  }

  async stopPulls(queues: readonly LaneQueue[]): Promise<void> {
    const pulls = queues.map((queue) => this.#pulls.get(queue)).filter((pull) => pull !== undefined);
    queues.forEach((queue) => this.#pulls.delete(queue));
    await Promise.all(pulls.map((pull) => pull.stop()));
  }

  /** Requests more messages, because credit rose. */
  topUp(): void {
    this.#pulls.forEach((pull) => pull.topUp());
  }

  /** Resolves when this pod has heard since it stood still which lanes it owns; undefined when it has. */
  confirmed(): Promise<void> | undefined {
    return this.#shared.ownership.confirmed()?.then(() => this.confirmed() ?? this.#reconciled);
  }

  /** Makes one attempt; false when the partner may not be sent to any more. */
  attempt(work: Work, partner: Partner, control: LaneControl): Promise<boolean> {
    return this.#counted(async () => (await deliver(this.#context, work, partner, control)) === "done");
  }

  /** Makes the first attempt of a delivery that is not stored; resolves with whether it has ended. */
  attemptDirectly(attempt: DeliveryToAttempt, event: HeldEvent, control: LaneControl): Promise<boolean> {
    this.#starts.note();
    return this.#counted(() => deliverDirectly(this.#context, attempt, event, control));
  }

  async #counted(attempt: () => Promise<boolean>): Promise<boolean> {
    const { inFlight } = this.#context.metrics;
    inFlight.inc();
    try {
      return await attempt();
    } finally {
      inFlight.dec();
    }
  }

  async #reconcileNow(): Promise<void> {
    await this.#shared.consumerChanges.acquire();
    try {
      await this.#policy.reconcile();
    } catch (error) {
      this.#context.log.warn({ err: error, ...this.#policy.logFields }, "consumers not ready, retry scheduled");
      this.#context.clock.after(retryPauseMs, () => this.reconcile());
    } finally {
      this.#shared.consumerChanges.release();
    }
  }

  #startPull(queue: LaneQueue): Pull {
    const policy = this.#policy;
    const redeliveryCheck = createRedeliveryCheck(() => policy.inFlightMax(queue));
    return this.#context.deliveries.pull(queue, policy.lane, {
      credit: () => Math.min(policy.credit(queue), this.#budgetCredit()),
      onMessage: (message) => {
        if (queue === "first") this.#waiting = message.waiting;
        this.#accept(message, redeliveryCheck);
      },
      onOpen: () => redeliveryCheck.require(),
      repair: () => policy.ensureConsumer(queue),
    });
  }

  #accept(message: PulledMessage, redeliveryCheck: RedeliveryCheck): void {
    const delivery = parseDeliveryRecord(message);
    if (delivery === undefined) {
      void this.#storeUnreadable(message);
      return;
    }
    const start = (held: PulledMessage): Work => ({
      delivery,
      redeliveryCheck,
      message: held,
      sinceMs: this.#context.clock.nowMs(),
    });
    this.#inFlight.take(message, start, (work) => this.#run(work));
  }

  async #run(work: Work): Promise<void> {
    const { budget } = this.#shared;
    budget.take(this.#policy.lane);
    try {
      await this.#starts.next();
      await this.#policy.handle(work).finally(() => this.#starts.end());
    } finally {
      budget.release(this.#policy.lane);
    }
  }

  /** Messages that the budget of the pod allows this lane besides those in work. */
  #budgetCredit(): number {
    const { lane } = this.#policy;
    const available = this.#shared.budget.available(lane);
    if (available === 0) this.#shared.budget.want(lane, () => this.topUp());
    return available;
  }

  async #storeUnreadable(message: PulledMessage): Promise<void> {
    const { log } = this.#context;
    const { subject, seq, data } = message;
    log.error({ subject, seq }, "unreadable message found in the deliveries stream");
    try {
      const deadLetter = unreadableDeadLetter(this.#policy.lane, subject, seq, data);
      await storeDeadLetter(this.#context, { deadLetter, state: "dead" }, this.#policy);
      message.ack();
    } catch (error) {
      log.error({ err: error, subject, seq }, "dead letter of an unreadable message not stored");
    }
  }

  #logFailure(error: unknown, { delivery }: Work): void {
    const { ending, log } = this.#context;
    if (!ending.aborted) {
      const { eventId, tenant, attempt } = delivery;
      log.error({ err: error, eventId, tenant, attempt, ...this.#policy.logFields }, "attempt failed");
    }
  }
}
