import type { PreviewedEvents } from "../../api/previews.ts";
import { tableOf, type TextForm } from "./text-table.ts";

type Simulation = NonNullable<PreviewedEvents["simulated"]>;
type Partner = Simulation["partners"][number];

const titles = ["Simulated", "Dead letters", "Would live", "Would die", "Pending", "Backlog", "In flight", "P95"];
const align = ["---", ...titles.slice(1).map(() => "---:")];
const secondMs = 1_000;

/** A server of an earlier version simulates nothing. */
type Simulated = Partial<Pick<PreviewedEvents, "simulated">>;

/** An estimate of what follows the first difference, apart from what is exact. */
export function simulationLines({ simulated }: Simulated, form: TextForm): readonly string[] {
  const { partners } = simulated ?? { partners: [] };
  if (partners.length === 0) return [];
  const sum = (of: (partner: Partner) => number): number => partners.reduce((total, one) => total + of(one), 0);
  const farthestMs = Math.max(...partners.map((one) => one.farthest_ms));
  const head =
    `Simulated, not exact, for ${sum((one) => one.deliveries)} deliveries: ${sum((one) => one.estimated)} attempts ` +
    `with the result of the partner's nearest recorded one, at most ${seconds(farthestMs)} away.`;
  return ["", head, "", ...tableOf(form, { titles, align }, partners.map(cellsOf))];
}

/** What the simulation leaves out. */
export function simulationNotes({ simulated }: Simulated): readonly string[] {
  if (simulated === undefined || simulated === null) return [];
  const { complete, left_out: leftOut, not_simulated: others } = simulated;
  return [
    ...(leftOut > 0 ? [`Not simulated: ${leftOut} deliveries without their first attempts, or beyond a limit.`] : []),
    ...(!complete && leftOut === 0
      ? ["The simulation lacks attempts: it reached its limit, or the server went on in another pod."]
      : []),
    ...(others.length === 0
      ? []
      : [`Not simulated: ${others.length} partners whose edit changes more than retries and limits.`]),
  ];
}

function cellsOf({ partner, recorded, simulated, would_live: live, would_die: die }: Partner): readonly string[] {
  const both = (of: (one: Partner["recorded"]) => string | number): string => `${of(recorded)} → ${of(simulated)}`;
  return [
    partner,
    both((one) => one.dead_letters),
    String(live),
    String(die),
    both((one) => one.pending),
    both((one) => one.backlog),
    both((one) => one.in_flight),
    both(({ p95_ms: p95 }) => (p95 === null ? "-" : seconds(p95))),
  ];
}

function seconds(ms: number): string {
  return `${Number((ms / secondMs).toPrecision(3))}s`;
}
