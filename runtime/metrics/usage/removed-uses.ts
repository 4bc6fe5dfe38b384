import { type previewedUses, type PreviewedReaders, readerDays } from "../../../api/previews.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { hourMs, type UsageRow } from "../admission/usage-counts.ts";
import type { Names } from "../authorization/access.ts";
import { indexCatalogs, type MetricEntry } from "../catalog-index.ts";
import type { UsageReader } from "../metrics-api.ts";
import { useName } from "../admission/cost.ts";
import { formatTime } from "../request/time.ts";
import { maySeeUsage, scanUsage, type UsageView } from "./read-usage.ts";
import type { UsageStore } from "./usage-message.ts";

/** Something that queries could use before an edit, and not after it. */
export interface RemovedUse {
  readonly metric: string;
  readonly what: (typeof previewedUses)[number];
  /** The aggregation, label or region; null for the metric. */
  readonly name: string | null;
}

/** Most removals of a result, and most clients of each. */
export const removalsMax = 200;
export const clientsMax = 50;
const every = "*";
const dayHours = 24;

/** Lists what an edit removes from the metrics of all catalogs. */
export function removedUses(before: RuntimeConfig, after: RuntimeConfig): readonly RemovedUse[] {
  const rest = indexCatalogs(after.catalogs);
  return [...indexCatalogs(before.catalogs).values()].flatMap((entry): readonly RemovedUse[] => {
    const { id } = entry.metric;
    const left = rest.get(id);
    if (left === undefined) return [{ metric: id, what: "metric", name: null }];
    const [had, has] = [usableOf(entry), usableOf(left)];
    return (["aggregation", "label", "region"] as const).flatMap((what) =>
      had[what].filter((name) => !has[what].includes(name)).map((name) => ({ metric: id, what, name })),
    );
  });
}

function usableOf({
  metric,
  stores,
}: MetricEntry): Readonly<Record<"aggregation" | "label" | "region", readonly string[]>> {
  const regions = new Set(stores.map(({ config }) => config.region));
  return { aggregation: metric.aggregations, label: metric.labels, region: [...regions].sort() };
}

/**
 * Reads which clients used what is removed, in the last {@link readerDays} days. Without the scope `metrics:usage`, a
 * caller sees its own requests only. If usage cannot be read, the result says so in place of the clients.
 */
export async function readRemovedUses(
  removed: readonly RemovedUse[],
  reader: UsageReader,
  store: UsageStore | undefined,
  nowMs: number,
): Promise<PreviewedReaders> {
  const visible = removed.filter(({ metric }) => allowsName(reader.metrics, metric));
  const shown = visible.slice(0, removalsMax);
  const toHour = Math.ceil((store?.now() ?? nowMs) / hourMs);
  const fromHour = toHour - readerDays * dayHours;
  const about = {
    from: formatTime(fromHour * hourMs),
    clients_shown: reader.seesAllUsage ? ("all" as const) : ("own" as const),
    omitted: visible.length - shown.length,
  };
  const unavailable = (why: string): PreviewedReaders => ({
    ...about,
    complete: false,
    removed: shown.map((one) => ({ ...one, clients: null, more_clients: 0, unknown_requests: 0 })),
    unavailable: why,
  });
  if (shown.length === 0) return { ...about, complete: true, removed: [] };
  if (store === undefined) return unavailable("this installation does not store usage");
  const tally = new Tally(shown, reader);
  try {
    const scanned = await scanUsage(store, { fromHour, toHour }, (_hour, row) => tally.add(row));
    const isComplete = scanned.completeSinceMs <= fromHour * hourMs && scanned.lost === 0 && !tally.hasHidden;
    return { ...about, complete: isComplete, removed: tally.removed() };
  } catch {
    return unavailable("usage cannot be read from NATS; try again later");
  }
}

/** Requests by removal and client. */
class Tally {
  readonly #view: UsageView;
  readonly #byMetric: ReadonlyMap<string, readonly RemovedUse[]>;
  readonly #clients: ReadonlyMap<RemovedUse, Map<string, number>>;
  readonly #unknown = new Map<RemovedUse, number>();
  hasHidden = false;

  constructor(removed: readonly RemovedUse[], { client, tenants, metrics, seesAllUsage }: UsageReader) {
    this.#view = {
      isOfAll: seesAllUsage,
      client,
      access: { tenants: namesOf(tenants), metrics: namesOf(metrics) },
    };
    this.#byMetric = Map.groupBy(removed, ({ metric }) => metric);
    this.#clients = new Map(removed.map((one) => [one, new Map()]));
  }

  add(row: UsageRow): void {
    const isOther = row.client === "" && row.metric === "";
    // Rows beyond the bound may be of any client and metric.
    if (isOther) this.hasHidden = true;
    const removed = this.#byMetric.get(row.metric);
    if (removed === undefined || isOther || !maySeeUsage(row, isOther, this.#view)) return;
    for (const one of removed) this.#count(one, row);
  }

  #count(one: RemovedUse, row: UsageRow): void {
    const used = requestsOf(one, row);
    const clients = this.#clients.get(one);
    if (used === undefined) this.#unknown.set(one, (this.#unknown.get(one) ?? 0) + row.requests);
    else if (used > 0) clients?.set(row.client, (clients.get(row.client) ?? 0) + used);
  }

  removed(): PreviewedReaders["removed"] {
    return [...this.#clients].map(([one, clients]) => {
      const sorted = [...clients]
        .map(([client, requests]) => ({ client, requests }))
        .sort((a, b) => b.requests - a.requests || (a.client < b.client ? -1 : 1));
      return {
        ...one,
        clients: sorted.slice(0, clientsMax),
        more_clients: Math.max(0, sorted.length - clientsMax),
        unknown_requests: this.#unknown.get(one) ?? 0,
      };
    });
  }
}

/** Requests of a row that used what is removed; undefined if the row does not count uses. */
function requestsOf({ what, name }: RemovedUse, { requests, uses }: UsageRow): number | undefined {
  if (what === "metric") return requests;
  return uses === undefined ? undefined : (uses.get(useName(what, name ?? "")) ?? 0);
}

function allowsName(names: readonly string[], name: string): boolean {
  return names.includes(every) || names.includes(name);
}

function namesOf(names: readonly string[]): Names {
  return names.includes(every) ? "every" : new Set(names);
}
