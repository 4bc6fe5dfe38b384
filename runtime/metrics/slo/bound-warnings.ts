import type { Logger } from "pino";
import type { SeriesConfig } from "../../../crds/config.ts";
import { createByteBudget, runBounded } from "../../stores/limits/fan-out.ts";
import type { Stores } from "../../stores/store.ts";
import type { CatalogStore } from "../catalog-index.ts";
import { coverageOf } from "../promql/event-recipes.ts";
import { fixedMatcher, printVector } from "../promql/promql.ts";
import type { SloEntry } from "./slo-selection.ts";

/** Most checks of one configuration, and most at once. */
const checksMax = 1_000;
const concurrency = 2;
const checkMsMax = 10_000;
/** Samples of a series that a check covers: recent ones, so that it is cheap. */
const samplesCovered = 20;

/** An objective with a threshold, and one store of its metric. */
interface Check extends SloEntry {
  readonly store: CatalogStore;
  /** Equal for equal checks only. */
  readonly key: string;
}

/** Warnings about objectives whose threshold is no bucket bound of all series in a store. */
export interface BoundWarnings {
  /** Checks the objectives that are new or edited, in the background. */
  apply(slos: readonly SloEntry[]): void;
  /** The warnings about one store. */
  of(storeKey: string): readonly string[];
}

/** The result of a check. */
interface Found {
  readonly storeKey: string;
  /** Undefined when all series have the bound. */
  readonly warning: string | undefined;
}

interface BoundOptions {
  readonly stores: Stores;
  readonly log: Pick<Logger, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * Creates the checks. Stores of other runtimes, and those that need a tenant for each request, are left out. A store
 * that does not respond is checked again with the next configuration.
 */
export function createBoundWarnings(options: BoundOptions): BoundWarnings {
  let found = new Map<string, Found>();
  const run = async (check: Check, own: Map<string, Found>): Promise<void> => {
    const share = await shareOf(check, options).catch(() => undefined);
    if (share === undefined) return;
    const { slo, store } = check;
    const warning = share < 1 ? sentenceOf(check, share) : undefined;
    own.set(check.key, { storeKey: store.key, warning });
    if (warning === undefined) return;
    const ids = { objective: slo.name, metric: slo.metric, store: store.key, region: store.config.region };
    options.log.warn({ ...ids, threshold: slo.threshold, share }, "the threshold is not a bucket bound of all series");
  };
  return {
    apply(slos) {
      const checks = slos.flatMap(checksOf).slice(0, checksMax);
      const own = new Map<string, Found>();
      for (const { key } of checks) {
        const known = found.get(key);
        if (known !== undefined) own.set(key, known);
      }
      found = own;
      const open = checks.filter(({ key }) => !own.has(key));
      const byStore = Map.groupBy(open, ({ store }) => store.key);
      for (const checksOfStore of byStore.values())
        void runBounded(checksOfStore, concurrency, (check) => run(check, own));
    },
    of: (storeKey) => [...found.values()].flatMap((one) => (one.storeKey === storeKey ? (one.warning ?? []) : [])),
  };
}

function checksOf({ slo, entry }: SloEntry): readonly Check[] {
  const { source } = entry.metric;
  // A native histogram needs no bucket with this bound.
  if (slo.threshold === undefined || (source.kind === "histogram" && source.type === "Native")) return [];
  return entry.stores
    .filter(({ config }) => config.prometheus !== undefined && config.tenancy !== "StoreHeader")
    .map((store) => ({
      slo,
      entry,
      store,
      key: JSON.stringify([slo.name, slo.threshold, entry.digest, store.digest]),
    }));
}

/** The share of recent samples that have the bucket; undefined without a sample. @throws StoreError */
async function shareOf({ slo, entry, store }: Check, { stores, now }: BoundOptions): Promise<number | undefined> {
  const running = stores.get(store.key);
  const { boundary } = await running.capabilities();
  const scope = {
    by: [],
    rangeMs: samplesCovered * store.intervalSeconds * 1_000,
    select: (series: SeriesConfig, suffix = "") => ({
      name: `${series.name}${suffix}`,
      matchers: series.matchers.map(fixedMatcher),
    }),
  };
  const { part, whole } = coverageOf(entry.metric, slo.threshold ?? 0, scope);
  const query = `(${printVector(part, boundary)} or vector(0)) / ${printVector(whole, boundary)}`;
  const signal = AbortSignal.timeout(checkMsMax);
  return running.client.single(query, now(), { signal, tenant: undefined, bytes: createByteBudget() });
}

function sentenceOf({ slo }: Check, share: number): string {
  const percent = Math.floor(share * 1_000) / 10;
  return (
    `the objective ${slo.name} requires the bucket of ${slo.threshold}, which ${percent} % of the recent samples of ` +
    `${slo.metric} have; this store adds nothing to it until all of them have`
  );
}
