/** One series of a response. */
export interface Series {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [time: string, value: number])[];
}

/** `region=eu,service=api` */
export function labelText(labels: Series["labels"]): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

export function lowest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((one, other) => Math.min(one, other));
}

export function highest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((one, other) => Math.max(one, other));
}

/** At most five digits, whole numbers in full. */
export function shortNumber(value: number | undefined): string | undefined {
  if (value === undefined) return undefined;
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
}
