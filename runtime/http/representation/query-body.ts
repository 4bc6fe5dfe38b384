/** The members of a query or instant body that CSV and NDJSON use. */
export interface QueryBody {
  readonly data: readonly (RangeItem | InstantItem)[];
  readonly meta: { readonly group_by: readonly string[] };
  /** Metrics that failed alone. @default none */
  readonly errors?: readonly object[];
}

interface RangeItem {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [timestamp: string, value: number])[];
}

interface InstantItem {
  readonly metric_id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly timestamp: string;
  readonly value: number;
}

/** One row of a table: a point of a series. */
interface PointRow {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly timestamp: string;
  readonly value: number;
}

/** The points of a body in the order of its series, then of time. */
export function pointRows({ data }: QueryBody): readonly PointRow[] {
  return data.flatMap((item): readonly PointRow[] => {
    if (!("points" in item))
      return [{ metric: item.metric_id, labels: item.labels, timestamp: item.timestamp, value: item.value }];
    return item.points.map(([timestamp, value]) => ({ metric: item.metric, labels: item.labels, timestamp, value }));
  });
}
