/** What a figure must be; `of` says whether the value or its ratio to the reference is compared. */
export interface Bar {
  readonly atMost?: number;
  readonly atLeast?: number;
  /** @default "value" */
  readonly of?: "value" | "ratio";
  /** Cores without which the bar means nothing. @default 1 */
  readonly cores?: number;
}

/** One figure of a part, with a value of each round. */
export interface Measured {
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
  /** The same work done by the least program that can do it, in the same run. */
  readonly reference?: { readonly name: string; readonly values: readonly number[] };
  readonly bar?: Bar;
  /** What a reader must know besides; for a figure without values, why there are none. */
  readonly note?: string;
}

export type BarResult = "holds" | "does not hold" | "not measured" | "no bar";

/** A figure over its rounds: medians, and the least and the greatest. */
interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** One line of the result. */
export interface Row {
  readonly part: string;
  readonly name: string;
  readonly unit: string;
  readonly rounds: number;
  readonly value?: Spread;
  readonly reference?: Spread & { readonly name: string };
  readonly ratio?: number;
  readonly bar?: Bar;
  readonly result: BarResult;
  readonly note?: string;
}

/** The value that a share of all values does not exceed (nearest rank); NaN without any. */
export function quantile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(rank * sorted.length))] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Rounds in pairs give the median of their ratios, which a slow moment of both does not move. */
export function ratioOf(values: readonly number[], reference: readonly number[]): number {
  if (values.length !== reference.length) return median(values) / median(reference);
  return median(values.map((value, round) => value / (reference[round] ?? Number.NaN)));
}

/** The line of a figure on a machine with this many cores. */
export function rowOf(part: string, { name, unit, values, reference, bar, note }: Measured, cores: number): Row {
  const ratio = reference === undefined || values.length === 0 ? undefined : ratioOf(values, reference.values);
  return {
    part,
    name,
    unit,
    rounds: values.length,
    ...(values.length === 0 ? {} : { value: spreadOf(values) }),
    ...(reference === undefined ? {} : { reference: { name: reference.name, ...spreadOf(reference.values) } }),
    ...(ratio === undefined ? {} : { ratio }),
    ...(bar === undefined ? {} : { bar }),
    result: resultOf({ value: values.length === 0 ? undefined : median(values), ratio, bar, cores }),
    ...(note === undefined ? {} : { note }),
  };
}

interface Judged {
  readonly value: number | undefined;
  readonly ratio: number | undefined;
  readonly bar: Bar | undefined;
  readonly cores: number;
}

function resultOf({ value, ratio, bar, cores }: Judged): BarResult {
  if (value === undefined) return "not measured";
  if (bar === undefined) return "no bar";
  const found = (bar.of === "ratio" ? ratio : value) ?? Number.NaN;
  if (cores < (bar.cores ?? 1) || Number.isNaN(found)) return "not measured";
  return isWithin(found, bar) ? "holds" : "does not hold";
}

function isWithin(found: number, bar: Bar): boolean {
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = bar;
  return found <= atMost && found >= atLeast;
}

/** `1,234`, `12.3`, `0.042`: three digits that count, or all before the point. */
export function figureText(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(digits, 6) });
}

/** A row as one line for people. */
export function rowText({ name, unit, value, reference, ratio, bar, result, note }: Row): string {
  const spread = (of: Spread): string =>
    `${figureText(of.median)}${of.min === of.max ? "" : ` (${figureText(of.min)}–${figureText(of.max)})`}`;
  const parts = [
    value === undefined ? undefined : `${spread(value)} ${unit}`,
    reference === undefined ? undefined : `${reference.name} ${spread(reference)}`,
    ratio === undefined ? undefined : `ratio ${figureText(ratio)}`,
    bar === undefined ? undefined : barText(bar, unit),
    result === "no bar" ? undefined : result,
    note,
  ];
  return `  ${name}: ${parts.filter((part) => part !== undefined).join(" · ")}`;
}

export function barText({ atMost, atLeast, of, cores }: Bar, unit: string): string {
  const bound = atMost === undefined ? `≥ ${figureText(atLeast ?? 0)}` : `≤ ${figureText(atMost)}`;
  return `${bound} ${of === "ratio" ? "×" : unit}${cores === undefined ? "" : ` on ${cores} cores`}`;
}
