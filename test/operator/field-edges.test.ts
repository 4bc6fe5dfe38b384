import { describe, expect, test } from "vitest";
import { aggregations } from "../../crds/config.ts";
import { allFieldEdges } from "./field-edges.ts";

const { edges, impossible, places } = allFieldEdges();

/** What no object can have, since a rule of the kind forbids it. */
const forbidden = [
  `MetricCatalog spec.metrics[].aggregations = ${JSON.stringify(aggregations)}`,
  "MetricCatalog spec.slos[].objective = 0",
  "MetricCatalog spec.slos[].objective = 1",
  // No zone of the time zone database has a name of the greatest length.
  `MetricCatalog spec.slos[].calendar.timeZone = "${"Europe/A".padEnd(40, "a")}"`,
  `MetricCatalog spec.slos[].corrections[].schedule.timeZone = "${"Europe/A".padEnd(40, "a")}"`,
];

describe("the edges of the schemas", () => {
  test("are each had by some object that can be edited there and back, but for what rules forbid", () => {
    expect(impossible).toEqual(forbidden);
  });

  test("leave no field out", () => {
    const reached = new Set(edges.map(({ kind, place }) => `${kind} ${place}`));
    expect(places.filter((place) => !reached.has(place))).toEqual(["MetricCatalog spec.slos[].objective"]);
  });
});
