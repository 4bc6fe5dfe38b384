import type { MetricConfig, SloConfig } from "../../crds/config.ts";
import type { Interval } from "../../crds/time-zone.ts";
import type { SloEntry } from "../metrics/slo/slo-selection.ts";
import { correctionStep, excludedIntervals } from "../metrics/slo/slo-windows.ts";

const secondMs = 1_000;
const dayMs = 86_400_000;
/** Days for which the schedule of a correction is silenced. */
const silencedDays = 35;
/** Most intervals of one tier, because an expression has at most 8,192 characters. */
const intervalsMax = 40;
/** Above every burn rate. */
const never = "1e12";

/** An objective, and when its rules are printed. */
interface Silenced {
  readonly slo: SloConfig;
  readonly metric: MetricConfig;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/**
 * What raises the limit of a short window while it covers a part of a correction. A rule cannot leave events out of its
 * windows, so it is silent until the short one has left the interval.
 */
export function silenceText(silenced: Silenced, shortSeconds: number): string {
  const intervals = silencedIntervals(silenced).slice(0, intervalsMax);
  if (intervals.length === 0) return "";
  const parts = intervals.map(({ fromMs, toMs }) => {
    return `(time() >= bool ${fromMs / secondMs}) * (time() < bool ${toMs / secondMs + shortSeconds})`;
  });
  return ` + ${never} * (${parts.join(" + ")})`;
}

/** The silenced intervals of an objective, in order. */
function silencedIntervals({ slo, metric, nowMs }: Silenced): readonly Interval[] {
  const span = { fromMs: nowMs - dayMs, toMs: nowMs + silencedDays * dayMs };
  return excludedIntervals(slo.corrections ?? [], span, correctionStep(slo, metric.minStepSeconds));
}

/** The end of the silenced intervals in Unix milliseconds; undefined when they are printed completely. */
export function silencedUntil({ slo, entry }: SloEntry, nowMs: number): number | undefined {
  if (slo.corrections === undefined) return undefined;
  const cut = silencedIntervals({ slo, metric: entry.metric, nowMs })[intervalsMax];
  const isScheduled = slo.corrections.some(({ schedule }) => schedule !== undefined);
  return cut?.fromMs ?? (isScheduled ? nowMs + silencedDays * dayMs : undefined);
}

/** States how long corrections are silenced. */
export function silenceNotes(view: SloEntry, nowMs: number): readonly string[] {
  const untilMs = silencedUntil(view, nowMs);
  if (untilMs === undefined) return [];
  return [
    `the alerts of the objective ${view.slo.name} are silent during its corrections until ` +
      `${new Date(untilMs).toISOString().slice(0, 16)}Z; print them again before`,
  ];
}
