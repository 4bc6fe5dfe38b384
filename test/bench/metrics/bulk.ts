import { rounds, times, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { hourMs, serviceName } from "./long-store.ts";
import { postText } from "./requests.ts";
import { askTexts, takeCold, type MetricsStage } from "./stage.ts";

/** One query of a bulk. */
interface Panel {
  readonly id: string;
  readonly metric: readonly string[];
  readonly agg: string;
  readonly group_by?: string;
  readonly filter: Readonly<Record<string, string>>;
  readonly from: string;
  readonly to: string;
  readonly step: string;
}

const scalars = ["avg", "sum", "max", "min"] as const;

/** Fifty queries over one window, in a bulk against one after another; each round has windows that nobody asked for. */
export async function bulk(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 3 : 50;
  const kinds = {
    "50 queries that share nothing": (place: number) => ({ service: place }),
    "50 panels of one dashboard": (place: number) => ({ group: place % 8 < 4 ? "service" : "environment" }),
  };
  const found: Measured[] = [];
  for (const [name, kind] of Object.entries(kinds)) {
    const panels = (): readonly Panel[] => {
      const [[tenant, end] = [0, 0]] = takeCold(stage, 1);
      return Array.from({ length: count }, (_, place) => panelOf(place, tenant, end, kind(place)));
    };
    const turns = await rounds(bench.rounds, async () => ({
      bulk: await askPanels(stage, [panels()]),
      single: await askPanels(
        stage,
        panels().map((panel) => [panel]),
      ),
    }));
    const reference = { name: "one by one", values: turns.map(({ single }) => single) };
    const bar = { of: "ratio", atMost: 0.5 } as const;
    found.push({ name: `a bulk of ${name}`, unit: "ms", values: turns.map((turn) => turn.bulk), reference, bar });
  }
  return found;
}

function panelOf(
  place: number,
  tenant: number,
  endMs: number,
  kind: { readonly service?: number; readonly group?: string },
): Panel {
  return {
    id: `panel-${place}`,
    metric: ["lag"],
    agg: scalars[place % scalars.length] ?? "max",
    filter: {
      tenant: `brand-${tenant}`,
      ...(kind.service === undefined ? {} : { service: serviceName(kind.service) }),
    },
    ...(kind.group === undefined ? {} : { group_by: kind.group }),
    from: new Date(endMs - 3 * hourMs).toISOString(),
    to: new Date(endMs).toISOString(),
    step: "1m",
  };
}

/** Milliseconds of bulks, one after another. */
async function askPanels(stage: MetricsStage, bulks: readonly (readonly Panel[])[]): Promise<number> {
  const texts = bulks.map((queries) =>
    postText("/v1/metrics/bulk-query", stage.tokens[0] ?? "", JSON.stringify({ queries })),
  );
  return times(await askTexts(stage, [texts])).reduce((sum, ms) => sum + ms, 0);
}
