import { Counter, Gauge, Histogram, type GaugeConfiguration, type Registry } from "prom-client";

/**
 * Creates Prometheus instruments in a registry. The name of each is the prefix and its own name.
 *
 * @param registry undefined: the values are not exported
 */
export function instrumentsOf(registry: Registry | undefined, prefix = "") {
  const named = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) => ({
    registers: registry === undefined ? [] : [registry],
    name: `${prefix}${name}`,
    help,
    labelNames,
  });
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Counter<Label>(named(name, help, labelNames)),
    gauge: <Label extends string>(
      name: string,
      help: string,
      labelNames: readonly Label[] = [],
      more: Pick<GaugeConfiguration<Label>, "collect"> = {},
    ) => new Gauge<Label>({ ...named(name, help, labelNames), ...more }),
    histogram: <Label extends string>(
      name: string,
      help: string,
      buckets: readonly number[],
      labelNames: readonly Label[] = [],
    ) => new Histogram<Label>({ ...named(name, help, labelNames), buckets: [...buckets] }),
  };
}
