import { monitorEventLoopDelay } from "node:perf_hooks";
import { startStoreProxy } from "../../runtime/stores/store-proxy.ts";
import { regions, type Region } from "./gap-stores.ts";

/** Stores behind proxies that are slow, hang, round times or respond too late. */

/** What a store does. @default it responds at once */
type StoreFault = "slow" | "hung" | "rounding" | "late";
export type StoreFaultsOf = Readonly<Partial<Record<Region, StoreFault>>>;

/** Bound on the reads of one request. */
const deadlineMs = 600;
const delayMs = { slow: 15, late: 2 * deadlineMs } as const;
/** Requests that are sent together, over the same faults. An objective has 17 reads of each store, which must fit. */
const together = { queries: 20, objectives: 4 } as const;
/** The longest that a store may take on a machine that has time for it: the requests of a batch form a few rounds. */
const timelyMsMax = deadlineMs / 8;

export interface FaultyStores {
  readonly urls: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  readonly together: typeof together;
  /** Draws the fault of each store. */
  draw(pick: <Value>(values: readonly Value[]) => Value): StoreFaultsOf;
  /** Runs requests, and tells the regions that the machine had no time for. */
  watch<Result>(send: () => Promise<Result>): Promise<{ readonly result: Result; readonly starved: readonly Region[] }>;
  stop(): Promise<void>;
}

/** Puts a proxy before each store. @param targets URLs, in the order of the regions */
export async function faultsOver(targets: readonly string[]): Promise<FaultyStores> {
  const proxies = await Promise.all(targets.map((url) => startStoreProxy(url)));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  return {
    urls: Object.fromEntries(regions.map((region, index) => [region, proxies[index]?.url ?? ""])),
    deadlineMs,
    together,
    draw(pick) {
      const faults = regions.map((region) => {
        const fault = pick<StoreFault | undefined>([undefined, undefined, "slow", "hung", "rounding", "late"]);
        return [region, fault] as const;
      });
      for (const [index, [, fault]] of faults.entries()) {
        proxies[index]?.set({
          isHung: fault === "hung",
          isRounding: fault === "rounding",
          ...(fault === "slow" || fault === "late" ? { delayMs: delayMs[fault] } : {}),
        });
      }
      return Object.fromEntries(faults.filter(([, fault]) => fault !== undefined));
    },
    async watch(send) {
      delay.reset();
      delay.enable();
      const result = await send();
      delay.disable();
      const isBusy = delay.max / 1e6 > timelyMsMax;
      return {
        result,
        starved: regions.filter((_, index) => isBusy || (proxies[index]?.slowestMs() ?? 0) > timelyMsMax),
      };
    },
    async stop() {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    },
  };
}

/** Tests if a store can respond in time. @param isAligned set when rounding does not change the times of the request */
export function mayRespond(fault: StoreFault | undefined, isAligned: boolean): boolean {
  if (fault === "rounding") return isAligned;
  return fault === undefined || fault === "slow";
}
