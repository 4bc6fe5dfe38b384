import type { PreviewedFigures } from "../../../api/previews.ts";
import type { Course, RecordedDelivery } from "./course.ts";

/** A delivery as it was recorded. */
export function recordedCourse({ acceptedAtMs, attempts, end }: RecordedDelivery): Course {
  return { acceptedAtMs, attempts, end };
}

/** Counts and measures deliveries of one partner. Pending ones wait until the end of all time. */
export function figuresOf(courses: readonly Course[]): PreviewedFigures {
  const ended = courses.map((course) => ({ ...course, endMs: endMsOf(course) }));
  const delivered = ended.filter(({ end }) => end === "delivered");
  const pending = ended.filter(({ end }) => end === "retry");
  return {
    delivered: delivered.length,
    dead_letters: ended.length - delivered.length - pending.length,
    pending: pending.length,
    backlog: mostAtOnce(ended.map(({ acceptedAtMs, endMs }) => [acceptedAtMs, endMs])),
    in_flight: mostAtOnce(ended.flatMap(({ attempts }) => attempts.map(({ startMs, endMs }) => [startMs, endMs]))),
    p95_ms: percentile95(delivered.map(({ acceptedAtMs, endMs }) => endMs - acceptedAtMs)),
  };
}

/** True for a delivery that ended without success. */
export function isDead({ end }: Course): boolean {
  return end !== "delivered" && end !== "retry";
}

function endMsOf({ acceptedAtMs, attempts, end }: Course): number {
  return end === "retry" ? Number.POSITIVE_INFINITY : (attempts.at(-1)?.endMs ?? acceptedAtMs);
}

/** An interval ends before another one that begins at the same instant. */
function mostAtOnce(intervals: readonly (readonly [startMs: number, endMs: number])[]): number {
  const starts = Float64Array.from(intervals, ([start]) => start).sort();
  const ends = Float64Array.from(intervals, ([, end]) => end).sort();
  let [most, ended] = [0, 0];
  for (const [index, start] of starts.entries()) {
    while ((ends[ended] ?? Number.POSITIVE_INFINITY) <= start) ended += 1;
    most = Math.max(most, index + 1 - ended);
  }
  return most;
}

/** By the nearest rank. */
function percentile95(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null;
}
