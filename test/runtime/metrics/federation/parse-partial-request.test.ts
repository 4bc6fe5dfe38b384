import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { parsePartialRequest } from "../../../../runtime/metrics/federation/parse-partial-request.ts";

const ask = {
  schema_version: "1",
  region: "latam",
  regions: ["latam", "eu", "latam"],
  metric: "lag",
  agg: "avg",
  part: "sum_over_time",
  tenant: "brand-a",
  environments: ["staging", "prod"],
  filters: { service: "web" },
  group_by: ["service"],
  points: { width_ms: 60_000, interval_seconds: 15, increases: "Extrapolated" },
};
const over = { start_ms: 0, count: 2 };
const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const read = (changes: object = {}, times: unknown = over) =>
  parsePartialRequest(bytes({ version: 1, ask: { ...ask, ...changes }, over: times }));

function refusalOf(work: () => unknown): { readonly code: string; readonly field: string | undefined } {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, field: error.errors[0]?.field };
    throw error;
  }
  throw new Error("nothing was refused");
}

/** @throws whatever is no refusal */
function kindOf(work: () => string): string {
  try {
    return work();
  } catch (error) {
    if (error instanceof ApiError) return "refused";
    throw error;
  }
}

describe("a question", () => {
  test("is parsed to one canonical form", () => {
    expect(read()).toEqual({
      kind: "partial",
      ask: { ...ask, regions: ["eu", "latam"], environments: ["prod", "staging"] },
      over,
    });
    const filters = { service: ["web", "api", "web"], psp: ["one"], device: "tv", version: [], component: "" };
    expect(read({ filters })).toMatchObject({
      ask: { filters: { service: ["api", "web"], psp: "one", device: "tv", version: [], component: "" } },
    });
    expect(parsePartialRequest(bytes({ version: 1, probe: { region: "latam" } }))).toEqual({
      kind: "probe",
      region: "latam",
    });
  });

  test("may have a step apart from the width, and has none by default", () => {
    const points = { ...ask.points, step_ms: 15_000 };
    expect(read({ points })).toMatchObject({ ask: { points } });
    expect(JSON.stringify(read())).not.toContain("step_ms");
  });

  const rows: readonly (readonly [sentence: string, work: () => unknown, code: string, field: string | undefined])[] = [
    ["is no JSON", () => parsePartialRequest(Buffer.from("{")), "invalid_json", undefined],
    ["is no UTF-8", () => parsePartialRequest(Buffer.from([0xff])), "invalid_utf8", undefined],
    ["is a list", () => parsePartialRequest(bytes([])), "invalid_request", "the body"],
    ["has no version", () => parsePartialRequest(bytes({ ask, over })), "schema_version_gone", "version"],
    [
      "has a member too many",
      () => parsePartialRequest(bytes({ version: 1, ask, over, query: "up" })),
      "unknown_parameter",
      "query",
    ],
    [
      "asks two things",
      () => parsePartialRequest(bytes({ version: 1, probe: { region: "latam" }, ask })),
      "invalid_request",
      "ask",
    ],
    ["has no region", () => read({ region: undefined }), "invalid_request", "ask.region"],
    ["has regions that are no list", () => read({ regions: "eu" }), "invalid_request", "ask.regions"],
    [
      "has too many environments",
      () => read({ environments: Array.from({ length: 65 }, (_, index) => `e${index}`) }),
      "invalid_request",
      "ask.environments",
    ],
    ["has an unknown aggregation", () => read({ agg: "stddev" }), "invalid_aggregation", "ask.agg"],
    ["has an empty tenant", () => read({ tenant: "" }), "invalid_request", "ask.tenant"],
    ["has a long metric", () => read({ metric: "m".repeat(201) }), "invalid_request", "ask.metric"],
    [
      "groups by a label outside the closed list",
      () => read({ group_by: ["pod"] }),
      "invalid_group_by",
      "ask.group_by",
    ],
    ["groups by a person", () => read({ group_by: ["userId"] }), "forbidden_label", "ask.group_by"],
    ["filters by a NUL", () => read({ filters: { service: "a\u0000b" } }), "invalid_filter", "ask.filters.service"],
    [
      "filters by a list in a list",
      () => read({ filters: { service: [["a"]] } }),
      "invalid_filter",
      "ask.filters.service",
    ],
    [
      "filters by too many values",
      () => read({ filters: { service: Array.from({ length: 51 }, (_, index) => `s${index}`) } }),
      "invalid_filter",
      "ask.filters.service",
    ],
    [
      "filters by a card number among others",
      () => read({ filters: { service: ["a", "4111111111111111"] } }),
      "invalid_filter",
      "ask.filters.service",
    ],
    [
      "has points of half a millisecond",
      () => read({ points: { ...ask.points, width_ms: 1_000.5 } }),
      "invalid_request",
      "ask.points.width_ms",
    ],
    [
      "has points half a millisecond apart",
      () => read({ points: { ...ask.points, step_ms: 1_000.5 } }),
      "invalid_request",
      "ask.points.step_ms",
    ],
    // An earlier version does so with a step apart from the width: it would answer for other times.
    [
      "has points of a kind that only later versions know",
      () => read({ points: { ...ask.points, phase_ms: 10_000 } }),
      "unknown_parameter",
      "phase_ms",
    ],
    [
      "has points without an interval",
      () => read({ points: { width_ms: 60_000, increases: "Plain" } }),
      "invalid_request",
      "ask.points.interval_seconds",
    ],
    [
      "has increases of its own kind",
      () => read({ points: { ...ask.points, increases: "Anchored" } }),
      "incompatible_increases",
      "ask.points.increases",
    ],
    ["has a quantile above one", () => read({ quantile: 1.1 }), "invalid_request", "ask.quantile"],
    ["has no times", () => read({}, {}), "invalid_time", "over"],
    ["has two kinds of times", () => read({}, { ...over, time_ms: 1 }), "invalid_time", "over"],
    ["has no points", () => read({}, { start_ms: 0, count: 0 }), "invalid_request", "over.count"],
    ["begins before time", () => read({}, { start_ms: -1, count: 1 }), "invalid_request", "over.start_ms"],
  ];
  test.each(rows)("is refused when it %s", (_sentence, work, code, field) => {
    expect(refusalOf(work)).toEqual({ code, field });
  });

  test("of any shape is parsed or refused", () => {
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.record({ version: fc.constant(1), ask: fc.jsonValue(), over: fc.jsonValue() }),
    );
    const bent = fc
      .tuple(fc.constantFrom(...Object.keys(ask)), fc.jsonValue())
      .map(([name, value]) => ({ version: 1, ask: { ...ask, [name]: value }, over }));
    fc.assert(
      fc.property(fc.oneof(anything, bent), (value) => {
        expect(["probe", "partial", "refused"]).toContain(kindOf(() => parsePartialRequest(bytes(value)).kind));
      }),
    );
  });
});
