import * as fc from "fast-check";
import { Counter as PromCounter, Histogram as PromHistogram, Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { instrumentsOf } from "../../limits/instruments.ts";
import { plainText } from "../../runtime/tracing/open-metrics.ts";

const buckets = [0.5, 1, 4];
const labels = fc.record({ route: fc.constantFrom("/a", "/b"), status: fc.constantFrom("200", "500", 'a"b\\c\nd') });
const counted = fc.array(fc.tuple(labels, fc.constantFrom(undefined, 0, 1, 2.5)));
const observed = fc.array(fc.tuple(labels, fc.constantFrom(-1, 0, 0.5, 0.7, 1, 4, 9)));

/** The registries of these instruments and of those of prom-client, after the same calls. */
function registries(): readonly [Registry, Registry] {
  return [new Registry(), new Registry()];
}

async function textsOf(registry: Registry): Promise<readonly string[]> {
  return [await plainText(registry), await registry.metrics()];
}

describe("instruments write what those of prom-client write", () => {
  test("after the same counts", async () => {
    await fc.assert(
      fc.asyncProperty(counted, async (counts) => {
        const [own, theirs] = registries();
        const counter = instrumentsOf(own, "a_").counter("b_total", "Help.", ["route", "status"]);
        const other = new PromCounter({
          name: "a_b_total",
          help: "Help.",
          labelNames: ["route", "status"],
          registers: [theirs],
        });
        for (const [of, count] of counts) {
          counter.inc(of, count);
          other.inc(of, count);
        }
        expect(await textsOf(own)).toEqual(await textsOf(theirs));
        counter.remove({ route: "/a", status: "200" });
        other.remove({ route: "/a", status: "200" });
        expect(await textsOf(own)).toEqual(await textsOf(theirs));
      }),
    );
  });

  test("after the same values", async () => {
    await fc.assert(
      fc.asyncProperty(observed, async (values) => {
        const [own, theirs] = registries();
        const histogram = instrumentsOf(own).histogram("b_seconds", "Help.", buckets, ["route", "status"]);
        const other = new PromHistogram({
          name: "b_seconds",
          help: "Help.",
          labelNames: ["route", "status"],
          buckets,
          registers: [theirs],
        });
        for (const [of, value] of values) {
          histogram.observe(of, value);
          other.observe(of, value);
        }
        expect(await textsOf(own)).toEqual(await textsOf(theirs));
      }),
    );
  });

  test("without labels, before and after the first value", async () => {
    const [own, theirs] = registries();
    const { counter, histogram } = instrumentsOf(own);
    const [count, observe] = [counter("a_total", "A."), histogram("b_seconds", "B.", buckets)];
    const [other, otherObserve] = [
      new PromCounter({ name: "a_total", help: "A.", registers: [theirs] }),
      new PromHistogram({ name: "b_seconds", help: "B.", buckets, registers: [theirs] }),
    ];
    expect(await textsOf(own)).toEqual(await textsOf(theirs));
    count.inc();
    count.inc(3);
    observe.observe(0.7);
    other.inc();
    other.inc(3);
    otherObserve.observe(0.7);
    expect(await textsOf(own)).toEqual(await textsOf(theirs));
  });
});

test("instruments reject what is no count and no value", () => {
  const { counter, histogram } = instrumentsOf(undefined);
  const [count, observe] = [counter("a_total", "A."), histogram("b_seconds", "B.", buckets)];
  for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY]) expect(() => count.inc(value)).toThrow(RangeError);
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) expect(() => observe.observe(value)).toThrow(RangeError);
});
