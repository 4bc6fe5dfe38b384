import { isSharedLane } from "../partners/assign-lanes.ts";
import { createInFlightBudget } from "./in-flight-budget.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import type { LaneOwnership } from "./lane-ownership.ts";
import type { Partner } from "../partners/partner.ts";
import { createPartnerWorker, type PartnerWorker, type SharedByWorkers } from "./own-lane-worker.ts";
import type { Promotions } from "./promotions.ts";
import { createSharedLane, type SharedLane } from "./shared-lane-worker.ts";
import { Semaphore } from "./semaphore.ts";

/** The workers of this pod: one per partner with a lane of its own, one per lane that is shared. */
export interface Lanes {
  /** What the partners are from now on. Those that are gone are pulled no more; what waits for them stays. */
  apply(partners: readonly Partner[]): void;
  /** Lets workers pull from now on. */
  start(): void;
  /** Compares what runs with what should, after homes changed. */
  reconcile(): void;
  /**
   * Finds lanes that nobody publishes to any more but that may still hold something, and empties them; and lanes that
   * are pulled without a consumer: a request that reached one while it was deleted is never answered.
   */
  lookForLeftovers(): Promise<void>;
  keepAlive(): void;
  /** Whether an attempt to the partner of this token is under way here, or about to be, though it may be gone. */
  isBusyWith(token: string): boolean;
  /** Pulls nothing more; resolves when what is in work has ended, or after the bound. */
  stop(drainMs: number): Promise<void>;
}

interface LanesDeps {
  readonly context: DeliveryContext;
  readonly ownership: Pick<LaneOwnership, "isOwner">;
  readonly promotions: Pick<Promotions, "promote">;
  /** Messages in work in this pod. @default 4096: with bodies of 2 KiB, 8 MiB of them */
  readonly inWorkMax?: number;
}

/** A server that makes hundreds of consumers at once answers none of them in time. */
const consumerChangesMax = 16;
const inWorkMaxDefault = 4_096;
/** Longer than the longest attempt. */
const retireMsMax = 120_000;

type Worker = Pick<PartnerWorker | SharedLane, "keepAlive" | "stop">;

/** Creates the workers' keeper. */
export function createLanes(deps: LanesDeps): Lanes {
  return new WorkerLanes(deps);
}

class WorkerLanes implements Lanes {
  readonly #deps: LanesDeps;
  readonly #workers = new Map<string, PartnerWorker>();
  readonly #shared = new Map<string, SharedLane>();
  readonly #retired = new Set<Worker>();
  readonly #common: SharedByWorkers;
  #partners: ReadonlyMap<string, Partner> = new Map();
  #leftovers: ReadonlySet<string> = new Set();
  #isRunning = false;

  constructor(deps: LanesDeps) {
    this.#deps = deps;
    const budget = createInFlightBudget(deps.inWorkMax ?? inWorkMaxDefault);
    this.#common = { turns: new Semaphore(consumerChangesMax), budget, inWork: new Map() };
  }

  apply(partners: readonly Partner[]): void {
    this.#partners = new Map(partners.map((partner) => [partner.key, partner]));
    for (const [token, worker] of this.#workers) {
      if (this.#partners.get(token)?.lane !== token) {
        this.#workers.delete(token);
        this.#retire(worker);
      }
    }
    this.reconcile();
  }

  start(): void {
    this.#isRunning = true;
    this.reconcile();
  }

  reconcile(): void {
    const lanes = new Set<string>();
    for (const [token, partner] of this.#partners) {
      if (partner.lane === token) {
        this.#reconcileOwn(partner);
      } else {
        lanes.add(partner.lane);
      }
    }
    this.#reconcileShared(new Set([...lanes, ...this.#leftovers]));
  }

  async lookForLeftovers(): Promise<void> {
    // What is pulled by now had its consumers made before.
    const pulled = [...this.#workers, ...this.#shared].map(([lane, worker]) => ({
      lane,
      worker,
      queues: worker.queues,
    }));
    const found = await this.#deps.context.deliveries.lanes();
    for (const { lane, worker, queues } of pulled) {
      worker.startOver(queues.filter((queue) => found.get(lane)?.includes(queue) !== true));
    }
    const used = this.#used();
    // The lane of a partner that is gone is left to the duty that removes partners.
    const isKnown = (lane: string): boolean => isSharedLane(lane) || this.#partners.has(lane);
    this.#leftovers = new Set([...found.keys()].filter((lane) => !used.has(lane) && isKnown(lane)));
    this.reconcile();
    for (const [lane, worker] of this.#workers) {
      if (found.get(lane)?.includes("retry") === true) worker.findRetries();
    }
    for (const lane of this.#leftovers) {
      // An edit may have given it back to its partner while the one before was looked at.
      if (!this.#used().has(lane) && this.#deps.ownership.isOwner(lane)) {
        await this.#deps.context.deliveries.removeLane(lane);
      }
    }
  }

  #used(): ReadonlySet<string> {
    return new Set([...this.#partners.values()].map(({ lane }) => lane));
  }

  keepAlive(): void {
    this.#all().forEach((worker) => worker.keepAlive());
  }

  isBusyWith(token: string): boolean {
    return this.#common.inWork.values().some(({ delivery }) => delivery.partner === token);
  }

  async stop(drainMs: number): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#all().map((worker) => worker.stop(drainMs)));
  }

  #reconcileOwn(partner: Partner): void {
    const { context, ownership } = this.#deps;
    const worker = this.#workers.get(partner.key) ?? createPartnerWorker(context, partner, this.#common);
    this.#workers.set(partner.key, worker);
    const { state, held } = partner.config;
    const isPulled = state === "Active" && held === undefined && ownership.isOwner(partner.lane);
    worker.set(partner, this.#isRunning && isPulled);
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

  #createShared(lane: string): SharedLane {
    const { context, promotions } = this.#deps;
    const partnerOf = (token: string): Partner | undefined => this.#partners.get(token);
    return createSharedLane({ context, lane, partnerOf, promotions, ...this.#common });
  }

  #retire(worker: Worker): void {
    this.#retired.add(worker);
    // Its attempts have their own time limit; JetStream is told of them until then.
    void worker.stop(retireMsMax).finally(() => this.#retired.delete(worker));
  }

  #all(): readonly Worker[] {
    return [...this.#workers.values(), ...this.#shared.values(), ...this.#retired];
  }
}
