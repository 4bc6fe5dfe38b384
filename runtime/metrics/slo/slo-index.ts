import type { CatalogConfig, SloConfig } from "../../../crds/config.ts";
import type { CatalogIndex, MetricEntry } from "../catalog/catalog-index.ts";

/** An objective and the metric that it is about. */
export interface SloEntry {
  readonly slo: SloConfig;
  readonly entry: MetricEntry;
}

/** Every objective by domain, name and metric. */
export function indexSlos(catalogs: readonly CatalogConfig[], metrics: CatalogIndex): readonly SloEntry[] {
  return (
    catalogs
      // A configuration that an older program compiled has no objectives.
      .flatMap(({ slos = [] }: Partial<CatalogConfig>) => slos)
      .flatMap((slo): readonly SloEntry[] => {
        const entry = metrics.get(slo.metric);
        return entry === undefined ? [] : [{ slo, entry }];
      })
      .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  );
}

/** No part holds a character below the hyphen. */
function keyOf({ slo }: SloEntry): string {
  return [slo.domain, slo.name, slo.metric].join(" ");
}
