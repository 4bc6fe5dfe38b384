// Prometheus instruments. Counters and histograms are counted for each request and read a few times a minute. Those of
// prom-client validate and hash all labels for each value, which costs a cached read 4 % of its CPU.
import { Gauge, type GaugeConfiguration, type Registry } from "prom-client";

type Labels<Label extends string = string> = Readonly<Partial<Record<Label, string | number>>>;

interface Named<Label extends string = string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

/** What a registry reads. */
interface Described extends Pick<Named, "name" | "help"> {
  readonly type: "counter" | "histogram";
  readonly aggregator: "sum";
  readonly values: readonly { readonly labels: Labels; readonly value: number; readonly metricName?: string }[];
}

const noLabels: Labels = {};

/** Values by their labels. A metric without labels has its value from the beginning. */
class ValuesByLabels<Value> {
  readonly #labelNames: readonly string[];
  readonly #create: (labels: Labels) => Value;
  readonly #values = new Map<string, Value>();

  constructor(labelNames: readonly string[], create: (labels: Labels) => Value) {
    this.#labelNames = labelNames;
    this.#create = create;
    if (labelNames.length === 0) this.of(noLabels);
  }

  of(labels: Labels): Value {
    const key = this.#keyOf(labels);
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = this.#create(labels);
    this.#values.set(key, value);
    return value;
  }

  delete(labels: Labels): void {
    this.#values.delete(this.#keyOf(labels));
  }

  all(): readonly Value[] {
    return [...this.#values.values()];
  }

  #keyOf(labels: Labels): string {
    const [first, second] = this.#labelNames;
    if (first === undefined) return "";
    if (second === undefined) return String(labels[first]);
    return this.#labelNames.map((name) => labels[name]).join("\n");
  }
}

/** A counter, as in prom-client. */
export class Counter<Label extends string = string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly type = "counter";
  readonly #values: ValuesByLabels<{ value: number; readonly labels: Labels }>;

  constructor(named: Named<Label>) {
    this.name = named.name;
    this.help = named.help;
    this.labelNames = named.labelNames;
    this.#values = new ValuesByLabels(named.labelNames, (labels) => ({ value: 0, labels }));
  }

  inc(count?: number): void;
  inc(labels: Labels<Label>, count?: number): void;
  /** @throws RangeError for a count that is negative or not finite */
  inc(first: Labels | number = noLabels, second = 1): void {
    const [labels, count] = typeof first === "number" ? [noLabels, first] : [first, second];
    if (!(count >= 0 && count < Number.POSITIVE_INFINITY)) throw new RangeError(`${this.name} cannot grow by ${count}`);
    this.#values.of(labels).value += count;
  }

  remove(labels: Labels<Label>): void {
    this.#values.delete(labels);
  }

  /** The values, for the registry. */
  async get(): Promise<Described> {
    return describe(
      this,
      this.#values.all().map((value) => ({ ...value })),
    );
  }
}

interface Observed {
  readonly labels: Labels;
  /** By bucket, those of smaller buckets not included; the last one has no bound. */
  readonly counts: number[];
  sum: number;
}

/** A histogram without exemplars, as in prom-client. */
export class Histogram<Label extends string = string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly type = "histogram";
  readonly #buckets: readonly number[];
  readonly #values: ValuesByLabels<Observed>;

  /** @param buckets their upper bounds, ascending */
  constructor(named: Named<Label>, buckets: readonly number[]) {
    this.name = named.name;
    this.help = named.help;
    this.labelNames = named.labelNames;
    this.#buckets = buckets;
    const empty = Array.from({ length: buckets.length + 1 }, () => 0);
    this.#values = new ValuesByLabels(named.labelNames, (labels) => ({ labels, counts: [...empty], sum: 0 }));
  }

  observe(value: number): void;
  observe(labels: Labels<Label>, value: number): void;
  /** @throws RangeError for a value that is not finite */
  observe(first: Labels | number, second = 0): void {
    const [labels, value] = typeof first === "number" ? [noLabels, first] : [first, second];
    if (!Number.isFinite(value)) throw new RangeError(`${this.name} cannot observe ${value}`);
    const observed = this.#values.of(labels);
    let bucket = 0;
    while (bucket < this.#buckets.length && value > (this.#buckets[bucket] ?? 0)) bucket += 1;
    observed.counts[bucket] = (observed.counts[bucket] ?? 0) + 1;
    observed.sum += value;
  }

  /** The values, for the registry. */
  async get(): Promise<Described> {
    return describe(
      this,
      this.#values.all().flatMap((observed) => this.#samplesOf(observed)),
    );
  }

  #samplesOf({ labels, counts, sum }: Observed): Described["values"] {
    const { name } = this;
    let below = 0;
    const buckets = counts.map((count, place) => {
      below += count;
      return { metricName: `${name}_bucket`, labels: { le: this.#buckets[place] ?? "+Inf", ...labels }, value: below };
    });
    const sums = [
      ["sum", sum],
      ["count", below],
    ] as const;
    return [...buckets, ...sums.map(([suffix, value]) => ({ metricName: `${name}_${suffix}`, labels, value }))];
  }
}

function describe({ name, help, type }: Pick<Described, "name" | "help" | "type">, values: Described["values"]) {
  return { name, help, type, aggregator: "sum", values } as const;
}

/**
 * Creates Prometheus instruments in a registry. The name of each is the prefix and its own name.
 *
 * @param registry undefined: the values are not exported
 */
export function instrumentsOf(registry: Registry | undefined, prefix = "") {
  const named = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Named<Label> => ({
    name: `${prefix}${name}`,
    help,
    labelNames,
  });
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      registered(registry, new Counter<Label>(named(name, help, labelNames))),
    gauge: <Label extends string>(
      name: string,
      help: string,
      labelNames: readonly Label[] = [],
      more: Pick<GaugeConfiguration<Label>, "collect"> = {},
    ) => {
      const registers = registry === undefined ? [] : [registry];
      return new Gauge<Label>({ ...named(name, help, labelNames), registers, ...more });
    },
    histogram: <Label extends string>(
      name: string,
      help: string,
      buckets: readonly number[],
      labelNames: readonly Label[] = [],
    ) => registered(registry, new Histogram<Label>(named(name, help, labelNames), buckets)),
  };
}

/** A registry calls only `get` of its metrics. Its types name the classes of prom-client. */
export function registered<Metric extends Counter | Histogram>(registry: Registry | undefined, metric: Metric): Metric {
  registry?.registerMetric(metric as never);
  return metric;
}
