import type { StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import { pointLabel, type Vector } from "../promql/promql.ts";
import type { PartOutcome, PartResult } from "../reads/read-part.ts";
import { greatestDivisor } from "./slo-windows.ts";

/** Most points of one request. A store computes them sequentially. */
const pointsMax = 8;

type ReadPlan = (plan: Plan) => Promise<readonly PartOutcome[]>;

/**
 * Reads plans of one point each, which have different widths. A store gets one request for several points of a
 * statistic; a peer, which gets no PromQL, one for each.
 *
 * @param plans of one query, the oldest first
 * @returns the outcomes of each plan
 */
export async function readPoints(plans: readonly Plan[], read: ReadPlan): Promise<readonly (readonly PartOutcome[])[]> {
  const last = plans.at(-1);
  if (last === undefined) return [];
  const groups = Map.groupBy(plans, (_, index) => Math.floor(index / pointsMax)).values();
  const outcomes = await Promise.all([...groups].map((group) => readTogether(group, last, read)));
  return outcomes.flat();
}

async function readTogether(
  plans: readonly Plan[],
  last: Plan,
  read: ReadPlan,
): Promise<readonly (readonly PartOutcome[])[]> {
  const joined = joinPlans(plans, last);
  const peers = plans.map((plan) => ({ ...plan, parts: plan.parts.filter((part) => !isJoinable(part)) }));
  const [together, ...alone] = await Promise.all(
    [joined, ...peers].map(async (plan) => (plan.parts.length > 0 ? read(plan) : [])),
  );
  const ofStore = new Map(together?.map((outcome) => [outcome.part.store.key, outcome]));
  return plans.map((plan, point) =>
    plan.parts.flatMap((part): readonly PartOutcome[] => {
      const own = ofStore.get(part.store.key);
      if (own === undefined) return alone[point]?.filter((other) => other.part === part) ?? [];
      const { outcome } = own;
      return [{ part, outcome: outcome.ok ? { ...outcome, value: resultAt(outcome.value, part, point) } : outcome }];
    }),
  );
}

function isJoinable({ store }: PlannedPart): boolean {
  return store.config.peer === undefined;
}

/** One plan at the time of the last one of all, with a query for the points of some of them. */
function joinPlans(plans: readonly Plan[], last: Plan): Plan {
  const { window } = last.query;
  // The width decides on the resolution of stores that downsample. It suits every point.
  const widthSeconds = plans.reduce((width, { query }) => greatestDivisor(width, query.window.widthSeconds), 0);
  const pointsOf = (part: PlannedPart, statistic: number): Vector => ({
    kind: "points",
    of: plans.flatMap(({ parts, grid }) => {
      const vector = parts.find(({ store }) => store.key === part.store.key)?.ranges[statistic];
      return vector === undefined ? [] : [{ vector, offsetMs: last.grid.startMs - grid.startMs }];
    }),
  });
  return {
    ...last,
    query: { ...last.query, window: { ...window, widthSeconds } },
    parts: last.parts
      .filter(isJoinable)
      .map((part) => ({ ...part, ranges: part.ranges.map((_, statistic) => pointsOf(part, statistic)) })),
  };
}

/** The series of one point, with the labels that they have alone. */
function pointOf(all: readonly StoreSeries[], point: number): readonly StoreSeries[] {
  return all.flatMap((series) => {
    const { [pointLabel]: index, ...labels } = series.labels;
    return index === String(point) ? [{ ...series, labels }] : [];
  });
}

function resultAt({ ranges, ...result }: PartResult, part: PlannedPart, point: number): PartResult {
  return { ...result, part, ranges: ranges.map(({ series }) => ({ series: pointOf(series, point) })) };
}
