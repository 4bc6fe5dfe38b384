import type { CatalogConfig, SloConfig } from "../../../crds/config.ts";
import type { CatalogIndex, MetricEntry } from "../catalog/catalog-index.ts";

/** An objective and its metric. */
export interface SloEntry {
  readonly slo: SloConfig;
  readonly entry: MetricEntry;
}

/** Indexes every objective, sorted by domain, name and metric. */
export function indexSlos(catalogs: readonly CatalogConfig[], metrics: CatalogIndex): readonly SloEntry[] {
  return (
    catalogs
      // An older operator compiles catalogs without this member.
      .flatMap(({ slos = [] }: Partial<CatalogConfig>) => slos)
      .flatMap((slo): readonly SloEntry[] => {
        const entry = metrics.get(slo.metric);
        return entry === undefined ? [] : [{ slo, entry }];
      })
      .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  );
}

/** The sort key. None of its parts has a character below the hyphen. */
function keyOf({ slo }: SloEntry): string {
  return [slo.domain, slo.name, slo.metric].join(" ");
}
