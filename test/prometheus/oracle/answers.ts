import { keyOf, type SeriesPoints } from "../../runtime/metrics/oracle/asked.ts";
import { governedLabels } from "./expressions.ts";

/** The smallest step of every metric: points lie on its multiples. */
export const smallestStepMs = 60_000;

/** The stamps of a query in Unix milliseconds; an instant has one. */
export interface Stamps {
  readonly startMs: number;
  /** Undefined: an instant. */
  readonly stepMs: number | undefined;
  readonly count: number;
}

export interface Answer {
  readonly status: string;
  readonly errorType?: string;
  readonly error?: string;
  readonly data?: {
    readonly resultType: "scalar" | "vector" | "matrix";
    readonly result: readonly Element[] | readonly [number, string];
  };
}

interface Element {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** Every stamp. */
export function stampsOf({ startMs, stepMs = 1, count }: Stamps): readonly number[] {
  return Array.from({ length: count }, (_, index) => startMs + index * stepMs);
}

/** The parameters of a query for the stamps, in seconds. */
export function parametersOf(query: string, { startMs, stepMs, count }: Stamps): URLSearchParams {
  if (stepMs === undefined) return new URLSearchParams({ query, time: String(startMs / 1_000) });
  const endMs = startMs + stepMs * (count - 1);
  const times = { start: startMs / 1_000, end: endMs / 1_000, step: stepMs / 1_000 };
  return new URLSearchParams({ query, ...Object.fromEntries(Object.entries(times).map(([k, v]) => [k, String(v)])) });
}

/** The path of a query for the stamps. */
export function pathOf({ stepMs }: Stamps): string {
  return stepMs === undefined ? "/api/v1/query" : "/api/v1/query_range";
}

/** Points by series and Unix milliseconds. A point that is no number is none. */
export function pointsOf({ data }: Answer): SeriesPoints<number> {
  const result = data?.resultType === "scalar" ? [{ metric: {}, value: data.result } as Element] : (data?.result ?? []);
  const series = (result as readonly Element[]).map(
    ({ metric, value, values = value === undefined ? [] : [value] }) => {
      const points = values.map(([seconds, text]) => [Math.round(seconds * 1_000), numberOf(text)] as const);
      const numbers = points.filter(([, point]) => !Number.isNaN(point));
      return [keyOf(governedLabels, (label) => metric[label] ?? metric[storeLabel(label)]), new Map(numbers)] as const;
    },
  );
  return new Map(series.filter(([, points]) => points.size > 0));
}

function storeLabel(label: string): string {
  return label === "environment" ? "env" : label;
}

function numberOf(text: string): number {
  return Number(text.replace("Inf", "Infinity"));
}

/**
 * What one store that holds everything has for each stamp: its own points at the last multiple of the smallest step.
 *
 * @throws Error with the store's words
 */
export async function askStore(url: string, query: string, stamps: Stamps): Promise<SeriesPoints<number>> {
  const read = (ms: number): number => Math.floor(ms / smallestStepMs) * smallestStepMs;
  const all = stampsOf(stamps);
  const [first, last] = [read(stamps.startMs), read(all.at(-1) ?? stamps.startMs)];
  const places: Stamps =
    stamps.stepMs === undefined
      ? { startMs: first, stepMs: undefined, count: 1 }
      : { startMs: first, stepMs: smallestStepMs, count: (last - first) / smallestStepMs + 1 };
  const response = await fetch(`${url}${pathOf(places)}`, { method: "POST", body: parametersOf(query, places) });
  const answer = (await response.json()) as Answer;
  if (answer.status !== "success") throw new Error(`${query}: ${answer.error}`);
  const stamped = [...pointsOf(answer)].map(([key, points]) => {
    const own = all.flatMap((ms) => {
      const value = points.get(read(ms));
      return value === undefined ? [] : [[ms, value] as const];
    });
    return [key, new Map(own)] as const;
  });
  return new Map(stamped.filter(([, points]) => points.size > 0));
}
