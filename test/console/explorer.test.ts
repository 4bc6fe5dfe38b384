import type { CatalogEntry } from "../../api/catalog.ts";
import { foundEntries } from "../../console/explorer/catalog-table.tsx";
import { clientsText } from "../../console/preview/query-effect.tsx";
import { readersOf } from "../../console/explorer/metric-usage.ts";
import type { CatalogCheck } from "../../api/catalog.ts";
import { catalogSummary } from "../../console/explorer/catalog-checks.tsx";
import type { QueryAnswer } from "../../api/queries.ts";
import { type ChartSeries, colorOf, swatchOf } from "../../console/charts/chart-data.ts";
import { lastChangeOf } from "../../console/charts/legend-table.tsx";
import { endsNow, freshnessOf } from "../../console/explorer/cost-of.ts";
import { costText } from "../../console/explorer/plan-facts.tsx";
import { execFileSync } from "node:child_process";
import { assert, constantFrom, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  explorerQuery,
  cheaperChange,
  cheaperWords,
  durationText,
  labelValuesPath,
  queryText,
  rankingChange,
  rankingText,
  rankingValue,
} from "../../console/explorer/explorer-query.ts";
import { curlLine, inShell, promqlLine } from "../../console/explorer/export-panel.tsx";
import { formatOfUnit, seriesLabel, shownSeries } from "../../console/explorer/shown-series.ts";

const nowMs = Date.parse("2026-01-31T12:00:00.000Z");
const textOf = (address: string): Readonly<Record<string, string>> =>
  Object.fromEntries(new URLSearchParams(queryText(explorerQuery(new URLSearchParams(address)), nowMs)));

describe("the query of an address", () => {
  test.each([
    [
      "metric=cpu_util",
      { metric: "cpu_util", from: "2026-01-31T11:00:00.000Z", to: "2026-01-31T12:00:00.000Z", limit: "20" },
    ],
    [
      "metric=a&range=7d&step=5m&agg=max&group_by=region,psp&page=3",
      {
        metric: "a",
        agg: "max",
        group_by: "region,psp",
        step: "5m",
        page: "3",
        limit: "20",
        from: "2026-01-24T12:00:00.000Z",
        to: "2026-01-31T12:00:00.000Z",
      },
    ],
    ["metric=a&from=2026-01-01T00:00:00Z&range=7d", { metric: "a", from: "2026-01-01T00:00:00Z", limit: "20" }],
    [
      "metric=a&range=soon&page=-2&filter[tenant]=lumen&filter[psp]=",
      {
        metric: "a",
        "filter[tenant]": "lumen",
        limit: "20",
        from: "2026-01-31T11:00:00.000Z",
        to: "2026-01-31T12:00:00.000Z",
      },
    ],
  ])("%s", (address, parameters) => {
    expect(textOf(address)).toEqual(parameters);
  });

  test("has a ranking and an earlier window, if the address has them", () => {
    const compared = { top: "5", by: "avg", order: "asc", compare: "1d" };
    expect(textOf(`metric=a&${new URLSearchParams(compared)}`)).toMatchObject(compared);
    for (const name of Object.keys(compared)) expect(textOf("metric=a")).not.toHaveProperty(name);
  });

  test("holds any value as one parameter", () => {
    assert(
      property(string(), (value) => {
        const address = new URLSearchParams({ metric: `m${value}`, "filter[psp]": `v${value}`, step: `s${value}` });
        const found = textOf(address.toString());
        expect(found).toMatchObject({ metric: `m${value}`, "filter[psp]": `v${value}`, step: `s${value}` });
      }),
    );
  });

  test("has the path of the values of a label within the other filters", () => {
    const request = explorerQuery(new URLSearchParams("metric=a&filter[tenant]=lumen&filter[psp]=north&range=1h"));
    expect(labelValuesPath(request, "psp", nowMs)).toBe(
      "/v1/metrics/labels/psp/values?metric=a&filter%5Btenant%5D=lumen" +
        "&from=2026-01-31T11%3A00%3A00.000Z&to=2026-01-31T12%3A00%3A00.000Z",
    );
  });
});

test.each([
  [{ step: "5m" }, { step: "5m" }, "a step of 5m"],
  [{ step: "5m", downsample: "1h" }, { step: "5m", downsample: "1h" }, "a step of 5m and a downsample of 1h"],
  [{ query: "metric=a&step=1h&from=2026-01-01T00%3A00%3A00Z" }, { step: "1h" }, "a step of 1h"],
  [{}, {}, ""],
])("the cheaper query %o changes the address", (suggestion, change, words) => {
  expect(cheaperChange(suggestion)).toEqual(change);
  expect(cheaperWords(suggestion)).toBe(words);
});

const catalogEntries = [
  {
    metric_id: "auth_success_rate",
    description: "Share of logins.",
    category: "slo",
    owner: "identity",
    domain: "auth",
  },
  { metric_id: "payouts", description: "Payouts.", category: "business", owner: "payments", contact: "#money" },
  { metric_id: "cpu_util", description: "Processors in use.", category: "infrastructure" },
] as unknown as readonly CatalogEntry[];

test.each([
  ["", ["auth_success_rate", "payouts", "cpu_util"]],
  ["find=IDENTITY", ["auth_success_rate"]],
  ["find=money", ["payouts"]],
  ["find=auth", ["auth_success_rate"]],
  ["owner=payments", ["payouts"]],
  ["domain=auth", ["auth_success_rate"]],
  ["domain=auth&owner=payments", []],
  ["category=infrastructure", ["cpu_util"]],
])("the catalog narrowed by %o", (address, ids) => {
  const params = new URLSearchParams(address);
  const found = foundEntries(catalogEntries, (name) => params.get(name) ?? "", { byMetric: undefined });
  expect(found.map(({ metric_id: id }) => id)).toEqual(ids);
});

test.each([
  [{ clients: [{ client: "shop", requests: 1200 }], more_clients: 2 }, true, "shop (1,200), 2 more"],
  [{ clients: [], unknown_requests: 3 }, true, "at most 3 requests of unknown clients"],
  [{ clients: [] }, true, "none"],
  [{ clients: [] }, false, "none known"],
  [{ clients: null }, true, "unknown"],
])("the clients of what an edit removes: %o, all usage known: %s", (some, isSure, text) => {
  const removal = { metric: "a", what: "metric", name: null, more_clients: 0, unknown_requests: 0 } as const;
  expect(clientsText({ ...removal, ...some }, isSure)).toBe(text);
});

test("lists the readers of a metric, most requests first", () => {
  const meta = { clients: "all", complete: false } as const;
  const data = [
    { client: "a", requests: 2 },
    { client: null, requests: 3 },
  ];
  expect(readersOf({ data, meta })).toEqual({
    clients: [
      { client: "other", requests: 3 },
      { client: "a", requests: 2 },
    ],
    isOwn: false,
    isComplete: false,
  });
});

const answerOf = (points: QueryAnswer["data"][number]["points"]): QueryAnswer => ({
  data: [{ metric: "a", labels: {}, points }],
  meta: {
    correlation_id: "c",
    schema_version: "v",
    downsample: "none",
    group_by: [],
    snapshot: "s",
    from: "2026-01-31T12:00:00.000Z",
    to: "2026-01-31T13:00:00.000Z",
    step: "1m",
    agg: "avg",
    page: 1,
    limit: 20,
    total_series: 1,
    has_more: false,
    partial: false,
    regions: [],
  },
});

test("a gap is a gap: no line is drawn over it, and it is never zero", () => {
  const at = (minute: number): string => new Date(nowMs + minute * 60_000).toISOString();
  const [series] = shownSeries(
    answerOf([
      [at(1), 1],
      [at(2), 0],
      [at(7), 3],
      [at(8), 4],
    ]),
    "ms",
  );
  expect(series?.points.map(([atMs, value]) => [(atMs - nowMs) / 60_000, value])).toEqual([
    [1, 1],
    [2, 0],
    [3, null],
    [7, 3],
    [8, 4],
  ]);
});

test("a series is named by its labels", () => {
  expect(seriesLabel({ metric: "a", labels: {} })).toBe("a");
  expect(seriesLabel({ metric: "a", labels: { region: "eu", psp: "<b>" } })).toBe("region=eu, psp=<b>");
});

test.each([
  ["ratio", 0.999_51, "99.951%"],
  ["ratio", 0, "0%"],
  ["ms", 1_250, "1.25 s"],
  ["ms", 75_000, "1 min 15 s"],
  ["s", 0.25, "250 ms"],
  ["messages", 0.001_234, "0.001234"],
  ["messages", 1_234_567.89, "1,234,567.9"],
])("a value of %s %d is written %s", (unit, value, text) => {
  expect(formatOfUnit(unit)(value)).toBe(text);
});

const header = `-H "Authorization: Bearer $HELIOGRAPH_TOKEN"`;
const quoted = String.raw`'http://h/v1?a=1&b='\'''`;

describe("a command line", () => {
  test("gives any text to the program as one word", () => {
    assert(
      property(string({ unit: constantFrom("'", '"', "$", "`", "\\", " ", "\n", "a", ";", "é") }), (text) => {
        expect(execFileSync("sh", ["-c", `printf %s ${inShell(text)}`], { encoding: "utf8" })).toBe(text);
      }),
      { numRuns: 30 },
    );
  });

  test("leaves the token in the environment", () => {
    expect(curlLine("http://h/v1?a=1&b='", "text/csv")).toBe(
      `curl -sS --fail-with-body ${header} -H 'Accept: text/csv' ${quoted}`,
    );
    expect(promqlLine("http://h", "sum(a)", { start: "1", end: "2" })).toBe(
      `curl -sS --fail-with-body ${header} -G --data-urlencode 'query=sum(a)'` +
        ` --data-urlencode 'start=1' --data-urlencode 'end=2' 'http://h/prometheus/api/v1/query_range'`,
    );
  });
});

test("the cost of a query without a tenant asks for one", () => {
  expect(costText(2_400, false)).toBe("Estimated cost: 2,400 units (points computed by the stores)");
  expect(costText(null, true)).toBe("Choose a tenant to see the cost.");
  expect(costText(null, false)).toBe("No estimate: the query is rejected.");
});

test("the newest sample has an age only in a range that ends now", () => {
  const headers = new Headers({ "x-data-freshness": "1641s" });
  expect(freshnessOf(headers)).toBe("27 min 21 s");
  expect(freshnessOf(new Headers())).toBeUndefined();
  expect(endsNow({ range: "3d" }, nowMs - 1_800_000, nowMs)).toBe(true);
  expect(endsNow({ range: "" }, nowMs - 30_000, nowMs)).toBe(true);
  expect(endsNow({ range: "" }, nowMs - 3_600_000, nowMs)).toBe(false);
});

const comparison = (unit: string): readonly ChartSeries[] => {
  const at = (minute: number): string => new Date(nowMs + minute * 60_000).toISOString();
  const own = {
    points: [
      [at(1), 3],
      [at(2), 1.5],
    ],
    change: [
      [1, 0.5],
      [-0.5, null],
    ],
  };
  const earlier = { points: [], change: [], previous: [[at(1), 7]] };
  const data = [
    {
      metric: "lag",
      labels: { service: "a" },
      ...own,
      previous: [
        [at(1), 2],
        [at(3), 2],
      ],
    },
    { metric: "lag", labels: { service: "b" }, ...earlier },
    { metric: "lag", labels: {}, points: [[at(1), 9]], change: [[null, null]], previous: [], other: 4 },
  ];
  const meta = { step: "1m", compare: { shift: "1w" } };
  return shownSeries({ data, meta } as unknown as QueryAnswer, unit);
};

describe("a comparison with an earlier window", () => {
  test("has a dashed line after each series, in its colour, with gaps of its own", () => {
    const lines = comparison("messages").map((one, index) => [
      one.label,
      colorOf(one, index),
      swatchOf(one, index),
      one.points.map(([, value]) => value),
    ]);
    expect(lines).toEqual([
      ["service=a", 1, "swatch series-1", [3, 1.5]],
      ["service=a, 1 w earlier", 1, "swatch series-1 dashed", [2, null, 2]],
      ["service=b", 2, "swatch series-2", []],
      ["service=b, 1 w earlier", 2, "swatch series-2 dashed", [7]],
      ["4 others", 3, "swatch series-3", [9]],
    ]);
  });

  test.each([
    ["messages", ["+1 (+50%)", "-0.5"]],
    ["ms", ["+1 ms (+50%)", "-0.5 ms"]],
    ["ratio", ["+100 pp (+50%)", "-50 pp"]],
  ])("has the changes of values in %s, and of the last one", (unit, changes) => {
    const [own, earlier, onlyEarlier] = comparison(unit);
    expect([...(own?.changes?.values() ?? [])]).toEqual(changes);
    expect(lastChangeOf(own ?? { points: [] })).toBe(changes[1]);
    expect(earlier?.changes).toBeUndefined();
    expect(lastChangeOf(onlyEarlier ?? { points: [] })).toBeUndefined();
  });

  test("does not show a change that the last value lacks", () => {
    expect([...(comparison("messages").at(-1)?.changes ?? [])]).toEqual([]);
    expect(
      lastChangeOf({
        points: [
          [1, 3],
          [2, 4],
          [3, null],
        ],
        changes: new Map([[1, "+1"]]),
      }),
    ).toBeUndefined();
    expect(
      lastChangeOf({
        points: [
          [1, 3],
          [2, null],
        ],
        changes: new Map([[1, "+1"]]),
      }),
    ).toBe("+1");
  });
});

test("series without a comparison have no changes and one line each", () => {
  const [own, ...others] = shownSeries(answerOf([["2026-01-31T12:01:00.000Z", 1]]), "ms");
  expect([own?.changes, others]).toEqual([undefined, []]);
});

test.each([
  [{ top: "5", by: "", order: "" }, "5,desc,max", "5 highest by max"],
  [{ top: "3", by: "avg", order: "" }, "3,desc,avg", "3 highest by avg"],
  [{ top: "10", by: "last", order: "asc" }, "10,asc,last", "10 lowest by last"],
])("the ranking %o is one choice, and comes back from it", (ranking, value, text) => {
  expect(rankingValue(ranking)).toBe(value);
  expect(rankingChange(value)).toEqual(ranking);
  expect(rankingText(value)).toBe(text);
});

test("all series are the choice without a ranking, also after one", () => {
  expect(rankingValue({ top: "", by: "avg", order: "asc" })).toBe("");
  expect(rankingChange("")).toEqual({ top: "", by: "", order: "" });
});

test.each([
  ["1w", "1 w"],
  ["15m", "15 min"],
  ["1h30m", "1 h 30 min"],
  ["soon", "soon"],
])("the duration %s is written %s", (duration, text) => {
  expect(durationText(duration)).toBe(text);
});

describe("catalogs and their stores", () => {
  const at = (minute: number): string => `2026-11-27T12:0${minute}:00.000Z`;
  const check = (id: string, status: CatalogCheck["status"], catalog?: string): CatalogCheck => ({
    metric_id: id,
    status,
    message: "",
    ...(catalog === undefined ? {} : { catalog }),
    ...(status === "NotChecked" ? {} : { stores: [{ store: "eu", status, message: "", checked_at: at(id.length) }] }),
  });

  test("have a row for each catalog, with the oldest time", () => {
    const checks = [
      check("a", "True", "shop/b"),
      check("aaa", "False", "shop/a"),
      check("aa", "Unknown", "shop/a"),
      check("aaaa", "NotChecked", "shop/a"),
      check("a", "NotChecked", "shop/c"),
    ];
    expect(catalogSummary(checks)).toEqual([
      {
        catalog: "shop/a",
        status: "False",
        text: "1 of 3 metrics differs, 1 of 3 metrics unknown, 1 not checked",
        checkedAt: at(2),
      },
      { catalog: "shop/b", status: "True", text: "1 metric as in the stores", checkedAt: at(1) },
      { catalog: "shop/c", status: "NotChecked", text: "1 not checked", checkedAt: undefined },
    ]);
    expect(catalogSummary([check("a", "Unknown")])).toMatchObject([{ catalog: "", status: "Unknown" }]);
    const due = { ...check("a", "Unknown"), message: "not compared yet" };
    expect(catalogSummary([due])).toMatchObject([{ status: "NotChecked", text: "1 not checked yet" }]);
  });

  test("narrow the list of metrics, and never hide what was not read", () => {
    const [first, second] = catalogEntries;
    const byMetric = new Map([[first?.metric_id ?? "", check("x", "False")]]);
    const found = (stores: string, known: ReadonlyMap<string, CatalogCheck> | undefined) =>
      foundEntries(catalogEntries, (name) => (name === "stores" ? stores : ""), { byMetric: known });
    expect(second).toBeDefined();
    expect(found("False", byMetric)).toEqual([first]);
    expect(found("", byMetric)).toEqual(catalogEntries);
    expect(found("False", undefined)).toEqual(catalogEntries);
  });
});
