import { createBudget } from "./budget.ts";
import type { DeliveryContext } from "./delivery-context.ts";
import type { Homes } from "./homes.ts";
import type { Partner } from "./partner.ts";
import { createPartnerWorker, type PartnerWorker } from "./partner-worker.ts";
import { Slots } from "./slots.ts";

/** The workers of this pod, one per partner of the configuration. */
export interface Lanes {
  /** What the partners are from now on. Those that are gone are pulled no more; what waits for them stays. */
  apply(partners: readonly Partner[]): void;
  /** Lets workers pull from now on. */
  start(): void;
  /** Compares what runs with what should, after homes changed. */
  reconcile(): void;
  keepAlive(): void;
  /** Pulls nothing more; resolves when what is in work has ended, or after the bound. */
  stop(drainMs: number): Promise<void>;
}

/** A server that makes hundreds of consumers at once answers none of them in time. */
const consumerChangesMax = 16;
/** Messages in work in one pod: with bodies of 2 KiB, 8 MiB of them. */
const inWorkMaxDefault = 4_096;
/** Longer than the longest attempt. */
const retireMsMax = 120_000;

/**
 * Creates the workers' keeper.
 *
 * @param inWorkMax messages in work in this pod
 */
export function createLanes(
  context: DeliveryContext,
  homes: Pick<Homes, "isHome">,
  inWorkMax = inWorkMaxDefault,
): Lanes {
  const workers = new Map<string, PartnerWorker>();
  const retired = new Set<PartnerWorker>();
  const shared = { turns: new Slots(consumerChangesMax), budget: createBudget(inWorkMax) };
  let partners = new Map<string, Partner>();
  let isRunning = false;
  const reconcile = (): void => {
    for (const [token, partner] of partners) {
      const worker = workers.get(token) ?? createPartnerWorker(context, partner, shared);
      workers.set(token, worker);
      worker.set(partner, isRunning && partner.config.state === "Active" && homes.isHome(partner.lane));
    }
  };
  const retire = (token: string, worker: PartnerWorker): void => {
    workers.delete(token);
    retired.add(worker);
    // Its attempts have their own time limit; JetStream is told of them until then.
    void worker.stop(retireMsMax).finally(() => retired.delete(worker));
  };
  const all = (): readonly PartnerWorker[] => [...workers.values(), ...retired];
  return {
    apply: (next) => {
      partners = new Map(next.map((partner) => [partner.token, partner]));
      [...workers].filter(([token]) => !partners.has(token)).forEach(([token, worker]) => retire(token, worker));
      reconcile();
    },
    start: () => {
      isRunning = true;
      reconcile();
    },
    reconcile,
    keepAlive: () => all().forEach((worker) => worker.keepAlive()),
    stop: async (drainMs) => {
      isRunning = false;
      await Promise.all(all().map((worker) => worker.stop(drainMs)));
    },
  };
}
