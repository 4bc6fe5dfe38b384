/** A Prometheus API as a client is told of it. */
export interface Target {
  /** Without `/api/v1` and without a slash at the end. */
  readonly url: string;
  readonly token: string;
}

/** One series of an answer; an instant has one point. Times are Unix seconds. */
export interface ClientSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [seconds: number, value: number])[];
}

/** What a client's user gets, as that client has it. */
export interface ClientAnswer {
  readonly series: readonly ClientSeries[];
  /** What the client shows of warnings. @default it drops them */
  readonly warnings?: readonly string[];
}

/** Unix seconds. */
export interface ClientRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** What every client can ask. Each method throws an Error with the words that the client's user sees. */
export interface PrometheusClient {
  readonly name: string;
  instant(expression: string, seconds: number): Promise<ClientAnswer>;
  range(expression: string, over: ClientRange): Promise<ClientAnswer>;
  labelValues(label: string): Promise<readonly string[]>;
  series(selector: string): Promise<readonly Readonly<Record<string, string>>[]>;
}

/** One element of a vector or matrix as Prometheus writes it. */
export interface WrittenElement {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: WrittenPoint;
  readonly values?: readonly WrittenPoint[];
}

type WrittenPoint = readonly [seconds: number, value: string];

/** The series of a vector or matrix as Prometheus writes it. */
export function readElements(elements: readonly WrittenElement[]): readonly ClientSeries[] {
  return elements.map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
    labels: metric,
    points: values.map(([seconds, text]) => [seconds, Number(text.replace("Inf", "Infinity"))] as const),
  }));
}
