import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import type { MetricCatalogSlo } from "../../../crds/types/metric-catalog.ts";
import { validateResource } from "../../../crds/validate.ts";
import { openSloText } from "../../../cli/configuration/export-open-slo.ts";
import { importedSlos } from "../../../cli/configuration/import-open-slo.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { runsOf } from "../../support/soak.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

const series = { name: "m" };
const source = (kind: object) => ({ intervalSeconds: 15, ...kind });
const metric = (id: string, kind: object) => ({
  id,
  category: "slo",
  unit: "1",
  description: "m",
  source: source(kind),
  aggregations: ["avg"],
  defaultAggregation: "avg",
});
const metrics = [
  metric("events", { ratio: { numerator: series, denominator: series } }),
  metric("seconds", { histogram: series }),
  metric("lag", { gauge: series }),
];

/** The objectives of a catalog as they are stored, with defaults. */
function stored(slos: readonly object[]): readonly MetricCatalogSlo[] {
  const spec = {
    schemaVersion: "1",
    stores: [{ name: "s", region: "r", prometheus: { url: "http://s" } }],
    metrics,
    slos,
  };
  const object = { apiVersion: "heliograph.dev/v1alpha1", kind: "MetricCatalog", metadata: { name: "c" }, spec };
  const { resource, problems } = validateResource({ ...object, metadata: { name: "c", namespace: "default" } });
  expect(problems).toEqual([]);
  if (resource?.kind !== "MetricCatalog") throw new Error("the catalog is not valid");
  return resource.spec.slos;
}

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z0-9]$/u);
const threshold = fc.oneof(fc.integer({ min: -1_000, max: 1_000 }), fc.constantFrom(0.25, 1e-7, -2.5));
const kinds = fc.oneof(
  fc.record({ metric: fc.constant("events"), counts: fc.constantFrom("Good", "Bad") }),
  fc.record({ metric: fc.constant("seconds"), threshold, counts: fc.constantFrom("Good", "Bad") }),
  fc.record({
    metric: fc.constant("lag"),
    over: fc.record({
      operator: fc.constantFrom("AtMost", "Below", "AtLeast", "Above"),
      threshold,
      sliceSeconds: fc.constantFrom(180, 300, 3_600),
    }),
  }),
);
const extras = fc.record(
  {
    title: fc.constantFrom("Logging in", "Übersicht: 1"),
    minimumEvents: fc.integer({ min: 1, max: 1_000 }),
    window: fc.oneof(
      fc.record({ windowDays: fc.integer({ min: 1, max: 90 }) }),
      fc.record({
        calendar: fc.record({
          period: fc.constantFrom("Month", "Quarter"),
          timeZone: fc.constantFrom("UTC", "Europe/Berlin", "America/Argentina/Ushuaia"),
        }),
      }),
    ),
    burnRates: fc.constantFrom([9, 6, 3, 1], [2.5, 2.5, 0.5, 0.1]),
    corrections: fc.constant([{ reason: "move", from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" }]),
  },
  { requiredKeys: [] },
);
const visibility = fc.constantFrom({}, { public: true }, { public: true, publicTenants: ["lumen"] });
const slo = fc.tuple(name, name, kinds, extras, visibility).map((parts) => {
  const { window, ...extra } = parts[3];
  return { name: parts[0], domain: parts[1], objective: 0.95, ...parts[2], ...extra, ...window, ...parts[4] };
});
const seed = 20_261_127;

describe("objectives as OpenSLO", () => {
  test(`are equal after an export and an import, seed ${seed}`, () => {
    fc.assert(
      fc.property(fc.uniqueArray(slo, { maxLength: 4, selector: (one) => one.name }), (slos) => {
        const before = stored(slos);
        const { slos: imported, unexpressed } = importedSlos("slos.yaml", openSloText(before));
        expect(unexpressed).toEqual([]);
        expect(stored(imported)).toEqual(before);
      }),
      { seed, numRuns: runsOf(500) },
    );
  });

  test("are services, and objectives with an indicator, a window, a method and burn rates", () => {
    const over = { operator: "AtMost", threshold: 100, sliceSeconds: 300 };
    const [service, document] = parseAllDocuments(
      openSloText(stored([{ name: "queue", domain: "platform", metric: "lag", objective: 0.99, over }])),
    ).map((one) => one.toJS() as object);
    expect(service).toEqual({ apiVersion: "openslo/v1", kind: "Service", metadata: { name: "platform" }, spec: {} });
    expect(document).toMatchObject({
      apiVersion: "openslo/v1",
      kind: "SLO",
      metadata: { name: "queue" },
      spec: {
        service: "platform",
        indicator: { spec: { thresholdMetric: { metricSource: { type: "Heliograph", spec: { metric: "lag" } } } } },
        timeWindow: [{ duration: "30d", isRolling: true }],
        budgetingMethod: "Timeslices",
        objectives: [{ op: "lte", value: 100, target: 0.99, timeSliceTarget: 1, timeSliceWindow: "300s" }],
        alertPolicies: [
          { spec: { conditions: [{ spec: { condition: { threshold: 14.4, lookbackWindow: "60m" } } }] } },
          { spec: { conditions: [{ spec: { condition: { threshold: 6, lookbackWindow: "360m" } } }] } },
          { spec: { conditions: [{ spec: { condition: { threshold: 3, lookbackWindow: "1440m" } } }] } },
          { spec: { conditions: [{ spec: { condition: { threshold: 1, lookbackWindow: "4320m" } } }] } },
        ],
      },
    });
  });
});

const usual = `apiVersion: openslo/v1
kind: SLO
metadata:
  name: login
spec:
  service: identity
  indicatorRef: logins
  timeWindow:
    - duration: 4w
      isRolling: true
  budgetingMethod: Occurrences
  objectives:
    - targetPercent: 99.5
---
apiVersion: openslo/v1
kind: SLI
metadata:
  name: logins
spec:
  ratioMetric:
    counter: true
    good:
      metricSource: { type: Heliograph, spec: { metric: events } }
    total:
      metricSource: { type: Heliograph, spec: { metric: events } }
`;

const inCalendar = (duration: string, startTime: string, rest = "timeZone: Europe/Berlin"): string =>
  `duration: ${duration}\n      calendar: { startTime: ${startTime}, ${rest} }\n      isRolling: false`;
const rolling = "duration: 4w\n      isRolling: true";

describe("a calendar window of OpenSLO", () => {
  test("is exported with its zone, a start and the burn rates of its nominal days", () => {
    const calendar = { period: "Quarter", timeZone: "Asia/Tokyo" };
    const [document] = parseAllDocuments(
      openSloText(stored([{ name: "a", domain: "d", metric: "events", objective: 0.99, calendar }])),
    ).flatMap((one) => ((one.toJS() as { readonly kind: string }).kind === "SLO" ? [one.toJS() as object] : []));
    expect(document).toMatchObject({
      spec: {
        timeWindow: [
          { duration: "1Q", calendar: { startTime: "2026-01-01 00:00:00", timeZone: "Asia/Tokyo" }, isRolling: false },
        ],
        alertPolicies: [
          { spec: { conditions: [{ spec: { condition: { lookbackWindow: "180m" } } }] } },
          ...[1_080, 4_320, 12_960].map((minutes) => {
            return { spec: { conditions: [{ spec: { condition: { lookbackWindow: `${minutes}m` } } }] } };
          }),
        ],
      },
    });
    expect(document).not.toHaveProperty("metadata.annotations");
  });

  test.each([
    ["a month", inCalendar("1M", "2020-02-01 00:00:00"), "Month"],
    ["a quarter", inCalendar("1Q", "2026-04-01 00:00:00"), "Quarter"],
    ["three months from October on", inCalendar("3M", '"2019-10-01T00:00"'), "Quarter"],
    ["a day as its start", inCalendar("1M", "2020-01-01"), "Month"],
    ["no isRolling", inCalendar("1M", "2020-01-01").replace("\n      isRolling: false", ""), "Month"],
  ])("of %s is imported", (_says, window, period) => {
    const { slos, unexpressed } = importedSlos("slos.yaml", usual.replace(rolling, window));
    expect([unexpressed, slos]).toEqual([
      [],
      [
        {
          name: "login",
          domain: "identity",
          metric: "events",
          objective: 0.995,
          calendar: { period, timeZone: "Europe/Berlin" },
        },
      ],
    ]);
  });

  test.each([
    ["a week", inCalendar("1w", "2020-01-06 00:00:00"), "one month (1M) or quarter (1Q)"],
    ["a year", inCalendar("1Y", "2020-01-01 00:00:00"), "one month (1M) or quarter (1Q)"],
    ["a start in the middle of a month", inCalendar("1M", "2020-01-21 00:00:00"), "first day of a period"],
    ["a start at half past twelve", inCalendar("1M", "2020-01-01 12:30:00"), "first day of a period"],
    ["a start with a zone", inCalendar("1M", "2022-01-01T00:00:00.000Z"), "without a zone"],
    ["a quarter from February on", inCalendar("1Q", "2020-02-01 00:00:00"), "first day of a period"],
    ["no start", inCalendar("1M", "2020").replace("startTime: 2020, ", ""), "first day of a period"],
    ["no zone", inCalendar("1M", "2020-01-01 00:00:00", "x: y"), "calendar.timeZone"],
    ["an unknown zone", inCalendar("1M", "2020-01-01", "timeZone: Europe/Berlim"), "the zone must be in the IANA"],
    ["an alias of a country", inCalendar("1M", "2020-01-01", "timeZone: US/Eastern"), "calendar.timeZone"],
    ["a rolling calendar", inCalendar("1M", "2020-01-01").replace("false", "true"), "the window of an objective"],
  ])("of %s is listed", (_says, window, reason) => {
    const { slos, unexpressed } = importedSlos("slos.yaml", usual.replace(rolling, window));
    expect([slos, unexpressed.length]).toEqual([[], 1]);
    expect(unexpressed[0]?.reason).toContain(reason);
  });
});

describe("an import", () => {
  test("reads an indicator by its name, weeks and percent", () => {
    expect(importedSlos("slos.yaml", usual)).toEqual({
      slos: [{ name: "login", domain: "identity", metric: "events", objective: 0.995, windowDays: 28 }],
      unexpressed: [],
    });
  });

  test.each<[says: string, from: string, to: string, line: number, field: string, reason: string, slos: number]>([
    ["a query", "type: Heliograph", "type: Prometheus", 7, "spec.indicatorRef", "add the query as a metric", 0],
    [
      "neither rolling nor a calendar",
      "isRolling: true",
      "isRolling: false",
      8,
      "spec.timeWindow",
      "the window of an objective is rolling",
      0,
    ],
    ["hours", "duration: 4w", "duration: 36h", 8, "spec.timeWindow", "a whole number of days", 0],
    [
      "ratios of slices",
      "Occurrences",
      "RatioTimeslices",
      11,
      "spec.budgetingMethod",
      "a ratio requires Occurrences",
      0,
    ],
    ["a target of 1", "99.5", "100", 5, "spec", "objective: an objective must be greater than 0", 0],
    ["no service", "  service: identity\n", "", 5, "spec", "domain", 0],
    ["a description", "  service:", "  description: x\n  service:", 6, "spec.description", "no such field", 1],
    [
      "a goal's name",
      "- targetPercent",
      "- displayName: x\n      targetPercent",
      13,
      "spec.objectives[0].displayName",
      "no such",
      1,
    ],
    ["labels", "  name: login", "  name: login\n  labels: { a: b }", 5, "metadata.labels", "no such field", 1],
    [
      "another version",
      "openslo/v1\nkind: SLO",
      "openslo/v1alpha\nkind: SLO",
      1,
      "apiVersion",
      "it is not openslo/v1",
      0,
    ],
    ["a data source", "kind: SLI", "kind: DataSource", 16, "kind", "stores are a part of the catalog", 0],
    [
      "alerts",
      "  service:",
      "  alertPolicies: [{ alertPolicyRef: x }]\n  service:",
      6,
      "spec.alertPolicies",
      "alerts are four burn",
      1,
    ],
  ])("lists %s with its line and the reason", (_says, from, to, line, field, reason, count) => {
    const { slos, unexpressed } = importedSlos("slos.yaml", usual.replace(from, to));
    expect(unexpressed).toContainEqual({ line, field, reason: expect.stringContaining(reason) as unknown });
    expect(slos).toHaveLength(count);
  });
});

const annotated = (json: string): string =>
  usual.replace("name: login", `name: login\n  annotations: { heliograph.dev/slo: '${json}' }`);

describe("an import of contradictions", () => {
  test.each<[says: string, text: string, field: string, reason: string, slos: number]>([
    [
      "two targets that differ",
      usual.replace("targetPercent: 99.5", "target: 0.9\n      targetPercent: 99.5"),
      "spec.objectives[0].targetPercent",
      "it differs from target",
      0,
    ],
    ["a second SLO of one name", `${usual}\n---\n${usual}`, "metadata.name", "another SLO has the same name", 1],
    ["an SLO without a name", usual.replace("name: login", "namespace: x"), "spec", "name: name is required", 0],
  ])("lists %s", (_says, text, field, reason, count) => {
    const { slos, unexpressed } = importedSlos("slos.yaml", text);
    expect(unexpressed.map((one) => [one.field, one.reason])).toContainEqual([field, reason]);
    expect(slos).toHaveLength(count);
  });

  test.each([
    ["another objective", '{"objective": 0.9}', "heliograph.dev/slo has another objective"],
    ["another name", '{"name": "logout"}', "heliograph.dev/slo has another name"],
    ["a repeated member", '{"title": "a", "title": "b"}', 'heliograph.dev/slo: the key "title" is repeated'],
    ["a list", '["title"]', "heliograph.dev/slo is not an object in JSON"],
    ["no JSON", "{", "heliograph.dev/slo is not an object in JSON"],
    [
      "65 lists in lists",
      `{"corrections": ${"[".repeat(65)}${"]".repeat(65)}}`,
      "heliograph.dev/slo: nested more than 64 deep",
    ],
    [
      "100,000 lists in lists",
      `{"corrections": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
      "heliograph.dev/slo: nested too deeply",
    ],
  ])("lists an annotation with %s", (_says, json, reason) => {
    const { slos, unexpressed } = importedSlos("slos.yaml", annotated(json));
    expect(unexpressed.map((one) => [one.field, one.reason])).toContainEqual(["metadata.annotations", reason]);
    expect(slos).toEqual([]);
  });

  test("accepts an annotation with an equal objective", () => {
    expect(importedSlos("slos.yaml", annotated('{"objective": 0.995, "title": "a"}'))).toMatchObject({
      slos: [{ objective: 0.995, title: "a" }],
      unexpressed: [],
    });
  });

  test("accepts two targets that are equal", () => {
    const text = usual.replace("targetPercent: 99.5", "target: 0.995\n      targetPercent: 99.5");
    expect(importedSlos("slos.yaml", text)).toMatchObject({ slos: [{ objective: 0.995 }], unexpressed: [] });
  });
});

describe("heliograph import openslo and export openslo", () => {
  test("are inverse for the examples, and list what is not expressed by exit code 1", async () => {
    const folder = await temporaryFolder("openslo");
    onTestFinished(() => folder.remove());
    const file = join(folder.path, "openslo.yaml");
    const exported = await runProgram(["export", "openslo", "docs/examples"]);
    expect(exported).toMatchObject({ code: 0, stderr: "" });
    await writeFile(file, exported.stdout);
    const imported = await runProgram(["import", "openslo", file]);
    expect(imported).toMatchObject({ code: 0, stderr: "" });
    const catalog = parse(await readFile("docs/examples/metric-catalog.yaml", "utf8")) as {
      readonly spec: { readonly slos: readonly Record<string, unknown>[] };
    };
    const { slos } = parse(imported.stdout) as { readonly slos: readonly Record<string, unknown>[] };
    const burnRates = [14.4, 6, 3, 1];
    expect(slos.map((one) => ({ windowDays: 30, ...one }))).toEqual(
      catalog.spec.slos
        .map((one) => ({ windowDays: 30, burnRates, ...one }))
        .map((one) => expect.objectContaining(one) as unknown),
    );
    await writeFile(file, usual.replace("type: Heliograph", "type: Prometheus"));
    const listed = await runProgram(["import", "openslo", file]);
    expect(listed).toMatchObject({ code: 1, stdout: "slos: []\n" });
    expect(listed.stderr).toContain(`${file}:7: spec.indicatorRef: add the query as a metric to the catalog`);
    expect(await runProgram(["import", "openslo", join(folder.path, "none.yaml")])).toMatchObject({ code: 3 });
  });
});
