import { afterEach, describe, expect, test } from "vitest";
import { changeOf } from "../../../../runtime/metrics/reads/compare-windows.ts";
import { type StoreReply, success } from "../../stores/scripted-store.ts";
import { faultsIn } from "../../http/openapi/strict-schema.ts";
import {
  type HttpAnswer,
  nowMs,
  type ScriptedMetricsServer,
  startMetricsServer,
} from "../../http/routes/metrics-server.ts";

/** Queries with `compare`: both windows, their change, what both cost, and where each is from. */

let server: ScriptedMetricsServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

type Pair = readonly [number | null, number | null];
interface Item {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [string, number])[];
  readonly previous: readonly (readonly [string, number])[];
  readonly change: readonly Pair[];
  readonly rank?: number;
  readonly other?: number;
}
interface Body {
  readonly data: readonly Item[];
  readonly meta: Readonly<Record<string, unknown>>;
}

const dayMs = 86_400_000;
const scrapedMs = Date.parse("2026-01-01T12:00:00Z");

/** What a store returns for a service at a time; undefined for no sample. */
type Held = (service: string, ms: number) => number | undefined;

function holding(services: readonly string[], held: Held): StoreReply {
  return (response, request) => {
    const query = request.form.get("query") ?? "";
    if (request.path.endsWith("/query")) {
      success({ resultType: "vector", result: [{ metric: {}, value: [0, String(nowMs / 1_000)] }] })(response, request);
      return;
    }
    const [first = 0, last = 0, step = 1] = ["start", "end", "step"].map((name) => Number(request.form.get(name)));
    const times = Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
    const rows = /by\([^)]*service/u.test(query) ? services : services.slice(0, 1);
    const result = rows.map((service) => ({
      metric: rows.length > 1 ? { service } : {},
      values: times.flatMap((seconds) => {
        const value = held(service, seconds * 1_000);
        return value === undefined ? [] : [[seconds, String(value)]];
      }),
    }));
    success({ resultType: "matrix", result: result.filter(({ values }) => values.length > 0) })(response, request);
  };
}

/** By day, and then by service. */
const held: Held = (service, ms) => {
  const days = Math.round((scrapedMs - ms) / dayMs);
  return { a: [30, 20], b: [5, 0], c: [9, undefined], d: [undefined, 4], e: [-1, -2] }[service]?.[days];
};

const url = "/v1/metrics/query?filter%5Btenant%5D=brand-a&filter%5Bregion%5D=eu&group_by=service&metric=lag&agg=sum";
const window = "from=2026-01-01T11:50:00Z&to=2026-01-01T12:00:00Z&step=10m";
const at = "2026-01-01T12:00:00.000Z";
const get = async (pairs: string, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer> =>
  (await server?.get(`${url}&${window}&${pairs}`, headers)) as HttpAnswer;
const bodyOf = (answer: HttpAnswer): Body => {
  expect([answer.status, answer.status === 200 ? "" : answer.text]).toEqual([200, ""]);
  expect(faultsIn(answer.json(), "QueryAnswer")).toEqual([]);
  return answer.json() as Body;
};
const short = ({ labels, points, previous, change }: Item) => [
  labels["service"],
  points[0]?.[1],
  previous[0]?.[1],
  change[0],
];

async function start(own: Held = held, services = ["a", "b", "c", "d", "e"]): Promise<void> {
  server = await startMetricsServer({ eu: holding(services, own) });
}

/** The same class with a cache. */
function withCache(): void {
  const { config, apply } = server as ScriptedMetricsServer;
  const A = { ...config.classDefaults.A, memorySeconds: 60, hotTailSeconds: 5 };
  apply({ ...config, classDefaults: { A, B: A, C: A } });
}

describe("compare", () => {
  test("has the points of the earlier window at the times of this one, and the change of each point", async () => {
    await start();
    const { data, meta } = bodyOf(await get("compare=1d"));
    expect(data.map(short)).toEqual([
      ["a", 30, 20, [10, 0.5]],
      ["b", 5, 0, [5, null]],
      ["c", 9, undefined, [null, null]],
      ["d", undefined, 4, undefined],
      ["e", -1, -2, [1, 0.5]],
    ]);
    expect(data[0]).toMatchObject({ points: [[at, 30]], previous: [[at, 20]] });
    expect(meta).toMatchObject({
      total_series: 5,
      compare: {
        shift: "1d",
        from: "2025-12-31T11:50:00.000Z",
        to: "2025-12-31T12:00:00.000Z",
        partial: false,
        regions: [{ region: "eu", state: "ok" }],
      },
    });
  });

  test("costs both windows, in the plan and in the query", async () => {
    await start();
    const [plain, both] = [await get("limit=50"), await get("compare=1d")];
    expect(Number(both.headers["x-query-cost"])).toBe(8);
    expect(Number(plain.headers["x-query-cost"])).toBe(4);
    await server?.close();
    await start();
    const planned = async (pairs: string) =>
      (await server?.get(`${url.replace("/query?", "/plan?")}&${window}&${pairs}`))?.json() as {
        readonly cost: number;
      };
    const plan = await planned("compare=1d");
    expect(faultsIn(plan, "PlanAnswer")).toEqual([]);
    expect(plan).toMatchObject({ compare: { shift: "1d", to: "2025-12-31T12:00:00.000Z" }, expression: null });
    expect(plan.cost).toBe(2 * (await planned("limit=50")).cost);
  });

  test("reads the earlier window from the points that its own query has cached, and caches it likewise", async () => {
    await start();
    withCache();
    const earlier = "from=2025-12-31T11:50:00Z&to=2025-12-31T12:00:00Z&step=10m";
    await server?.get(`${url}&${earlier}`);
    const sent = () =>
      server?.stores.flatMap(({ requests }) => requests).filter(({ form }) => form.get("query")?.startsWith("sum by("));
    const before = sent()?.length ?? 0;
    const first = await get("compare=1d");
    expect(first.headers["x-query-cache"]).toMatch(/^memory;hit=1;miss=1;/u);
    expect((sent()?.length ?? 0) - before).toBe(1);
    const again = await get("compare=1d");
    expect(again.headers["x-query-cache"]).toMatch(/^answer/u);
    expect(again.headers["x-query-cost"]).toBe("0");
    expect(again.bytes.equals(first.bytes)).toBe(true);
    for (const other of ["limit=50", "compare=2d"])
      expect([other, (await get(other)).headers["x-query-cache"]]).toEqual([other, expect.stringMatching(/^memory/u)]);
  });

  test("is of one snapshot on all pages", async () => {
    await start();
    const first = await get("compare=1d&limit=3");
    const [, next = ""] = /<(.*)>; rel="next"/u.exec(first.headers["link"] ?? "") ?? [];
    const second = (await server?.get(`/v1/metrics/query${next}`)) as HttpAnswer;
    expect(second.headers["x-query-cache"]).toBe("snapshot");
    expect(bodyOf(second).data.map(short)).toEqual([
      ["d", undefined, 4, undefined],
      ["e", -1, -2, [1, 0.5]],
    ]);
  });

  test("with top ranks this window, and other has the sums of both", async () => {
    await start();
    const { data, meta } = bodyOf(await get("compare=1d&top=2"));
    expect(data.map(({ rank, other }) => rank ?? { other })).toEqual([1, 2, { other: 3 }]);
    expect(data.map(short)).toEqual([
      ["a", 30, 20, [10, 0.5]],
      ["c", 9, undefined, [null, null]],
      [undefined, 4, 2, [2, 1]],
    ]);
    expect(meta["top"]).toMatchObject({ metrics: [{ candidates: 4, omitted: 3 }] });
  });

  test("leaves out infinite points of both windows, and a series with nothing else", async () => {
    await start((service, ms) => (service === "b" ? Infinity : service === "a" && ms < nowMs - dayMs ? Infinity : 1));
    const { data, meta } = bodyOf(await get("compare=1d"));
    expect(data.map(short)).toEqual([
      ["a", 1, undefined, [null, null]],
      ...["c", "d", "e"].map((service) => [service, 1, 1, [0, 0]]),
    ]);
    expect(meta["infinite_points"]).toBe(1);
  });

  test("shifts a window whose times are rounded as a whole", async () => {
    await start();
    const answer = await server?.get(`${url}&from=now/d&to=now&step=1h&compare=1d`);
    expect(bodyOf(answer as HttpAnswer).meta).toMatchObject({
      from: "2026-01-01T00:00:00.000Z",
      compare: { from: "2025-12-31T00:00:00.000Z", to: "2025-12-31T12:00:00.000Z" },
    });
  });

  test("is partial where the earlier window is", async () => {
    server = await startMetricsServer({
      eu: holding(["a", "b"], held),
      latam: (response, request) => {
        const isEarlier = Number(request.form.get("end")) < (nowMs - dayMs / 2) / 1_000;
        if (isEarlier && request.path.endsWith("range")) response.writeHead(500).end();
        else holding(["a", "b"], held)(response, request);
      },
    });
    const both = `${url.replace("&filter%5Bregion%5D=eu", "")}&${window}&compare=1d`;
    const answer = await server.get(both);
    expect([answer.status, answer.headers["x-partial"]]).toEqual([206, "true"]);
    expect(answer.json()).toMatchObject({
      meta: {
        partial: true,
        regions: [{ state: "ok" }, { state: "ok" }],
        compare: {
          partial: true,
          regions: [
            { region: "eu", state: "ok" },
            { region: "latam", state: "failed" },
          ],
        },
      },
    });
    expect((await server.get(`${both}&complete=required`)).status).toBe(502);
  });

  test("shifts by seconds of UTC: the clock of a zone with summer time is an hour off across its change", async () => {
    // Berlin changes on 29 March 2026 at 01:00 UTC. Noon is 10:00 UTC after it, and 11:00 UTC the day before.
    server = await startMetricsServer(
      { eu: holding(["a", "b"], (_service, ms) => ms / 3_600_000) },
      { now: () => Date.parse("2026-03-30T12:00:00Z") },
    );
    const noon = `${url}&from=2026-03-29T09:00:00Z&to=2026-03-29T10:00:00Z&step=1h&compare=1d`;
    const [item] = bodyOf(await server.get(noon)).data;
    expect(item?.change[0]?.[0]).toBe(24);
    expect(bodyOf(await server.get(noon)).meta["compare"]).toMatchObject({
      to: "2026-03-28T10:00:00.000Z",
    });
  });

  test("has a row for each time of either window in CSV", async () => {
    await start();
    const headers = { authorization: "Bearer everyone", accept: "text/csv" };
    expect((await get("compare=1d", headers)).text.split("\r\n")).toEqual([
      "metric,service,timestamp,value,previous,change,change_ratio",
      `lag,a,${at},30,20,10,0.5`,
      `lag,b,${at},5,0,5,`,
      `lag,c,${at},9,,,`,
      `lag,d,${at},,4,,`,
      `lag,e,${at},-1,-2,1,0.5`,
      "",
    ]);
  });

  test("is a part of a bulk, whose cost has both windows", async () => {
    await start();
    const query = { id: "q", metric: "lag", agg: "sum", group_by: "service", filter: { tenant: "brand-a" } };
    const times = { from: "2026-01-01T11:50:00Z", to: "2026-01-01T12:00:00Z", step: "10m" };
    const answer = (await server?.post("/v1/metrics/bulk-query", {
      queries: [{ ...query, ...times, compare: "1d" }],
    })) as HttpAnswer;
    expect(faultsIn(answer.json(), "BulkAnswer")).toEqual([]);
    expect(answer.json()).toMatchObject({ results: [{ data: [{ previous: [[at, 20]] }, {}, {}, {}, {}] }] });
    expect(answer.headers["x-query-cost-estimate"]).toBe("100");
  });

  test("explains the reads of both windows", async () => {
    await start();
    const answer = await get("compare=1d&explain=true", { authorization: "Bearer explainer" });
    const { explain } = bodyOf(answer) as unknown as {
      readonly explain: {
        readonly stores: readonly { readonly extents: readonly { readonly to: string }[] }[];
        readonly compare: typeof explain;
      };
    };
    expect(explain.stores[0]?.extents[0]?.to).toBe(at);
    expect(explain.compare.stores[0]?.extents[0]?.to).toBe("2025-12-31T12:00:00.000Z");
  });

  test.each([
    ["compare=1", "is not a duration"],
    ["compare=0d", "is not a duration"],
    ["compare=-1d", "is not a duration"],
    ["compare=15m", "is not a multiple of the step of 10m"],
    ["compare=1d&compare=1w", "given 2 times"],
    ["compare=60y", "is not a duration"],
    ["compare=3661d", "compare=3661d is longer than 3660d, the longest duration"],
    ["compare=30000d", ""],
  ])("rejects %s", async (pairs, detail) => {
    await start();
    const answer = await get(pairs);
    expect(answer.json()).toMatchObject({ code: "invalid_compare", errors: [{ field: "compare" }] });
    expect(answer.text).toContain(detail);
    const plan = await server?.get(`${url.replace("/query?", "/plan?")}&${window}&${pairs}`);
    expect(plan?.json()).toMatchObject({ allowed: false, refusal: { code: "invalid_compare" } });
  });
});

test.each([
  [3, 2, 1, 0.5],
  [-3, -2, -1, -0.5],
  [1, -2, 3, 1.5],
  [5, 0, 5, Number.NaN],
  [5, -0, 5, Number.NaN],
  [0, 0, 0, Number.NaN],
  [5, Number.NaN, Number.NaN, Number.NaN],
  [Number.NaN, 5, Number.NaN, Number.NaN],
])("the change to %d from %d is %d, or %d of it", (value, previous, absolute, relative) => {
  const { low, high } = changeOf(Float64Array.of(value), Float64Array.of(previous));
  expect([low[0], high[0]]).toEqual([absolute, relative]);
});

interface RangeBody {
  readonly data: { readonly result: readonly { readonly values: readonly (readonly [number, string])[] }[] };
}

test.each([
  ["desc", "b"],
  ["asc", "a"],
])("top ranks series that never have points at one time, %s", async (order, first) => {
  const middleMs = Date.parse("2026-01-01T11:55:00Z");
  await start(
    (service, ms) => (service === "a" ? (ms <= middleMs ? 1 : undefined) : ms > middleMs ? 2 : undefined),
    ["a", "b"],
  );
  const times = "from=2026-01-01T11:50:00Z&to=2026-01-01T12:00:00Z&step=5m";
  const { data } = bodyOf((await server?.get(`${url}&${times}&top=1&order=${order}`)) as HttpAnswer);
  expect(data.map(({ labels, rank, other }) => [labels["service"], rank ?? other])).toEqual([
    [first, 1],
    [undefined, 1],
  ]);
});

describe("offset and rankings in Prometheus' API", () => {
  const scoped = { authorization: "Bearer everyone", "x-scope-orgid": "brand-a" };
  const lag = (offset = ""): string => `sum by (service) (avg_over_time(lag{region="eu"}[10m]${offset}))`;
  const instant = async (text: string): Promise<HttpAnswer> =>
    (await server?.get(
      `/prometheus/api/v1/query?query=${encodeURIComponent(text)}&time=${scrapedMs / 1_000}`,
      scoped,
    )) as HttpAnswer;
  const valuesOf = (answer: HttpAnswer): readonly (readonly [string | undefined, string])[] => {
    const { data } = answer.json() as {
      readonly data: {
        readonly result: readonly {
          readonly metric: { readonly service?: string };
          readonly value: readonly [number, string];
        }[];
      };
    };
    return data.result.map(({ metric, value }) => [metric.service, value[1]]);
  };

  test("an offset is a query of its own over the earlier window", async () => {
    await start();
    expect(valuesOf(await instant(lag(" offset 1d")))).toEqual([
      ["a", "20"],
      ["b", "0"],
      ["d", "4"],
      ["e", "-2"],
    ]);
    const [alone, both] = [await instant(lag()), await instant(`${lag()} - ${lag(" offset 1d")}`)];
    expect(valuesOf(both)).toEqual([
      ["a", "10"],
      ["b", "5"],
      ["e", "1"],
    ]);
    expect(Number(both.headers["x-query-cost"])).toBe(2 * Number(alone.headers["x-query-cost"]));
    const sent = server?.stores.flatMap(({ requests }) => requests.map(({ form }) => form.get("query") ?? ""));
    expect(sent?.filter((text) => /offset|topk/u.test(text))).toEqual([]);
  });

  test("an offset shares the cached points of the earlier window", async () => {
    await start();
    withCache();
    const earlier = `/prometheus/api/v1/query?query=${encodeURIComponent(lag())}&time=${(scrapedMs - dayMs) / 1_000}`;
    await server?.get(earlier, scoped);
    expect((await instant(lag(" offset 1d"))).headers["x-query-cache"]).toMatch(/^answer/u);
  });

  test("a range with an offset has its own times, and no point of the future", async () => {
    await start((_service, ms) => ms / 60_000);
    const times = `start=${scrapedMs / 1_000 - 1_200}&end=${scrapedMs / 1_000 + 6_000}&step=600`;
    const range = async (text: string) => {
      const path = `/prometheus/api/v1/query_range?query=${encodeURIComponent(text)}&${times}`;
      const answer = (await server?.get(path, scoped)) as HttpAnswer;
      return (answer.json() as RangeBody).data.result[0]?.values;
    };
    const [own, before] = [await range(lag()), await range(lag(" offset 1h"))];
    expect(own).toHaveLength(3);
    expect(before).toEqual(own?.map(([second, value]) => [second, String(Number(value) - 60)]));
  });

  test("a ranking of an instant is in its own order, over exact values of all stores", async () => {
    await start();
    expect(valuesOf(await instant(`topk(2, ${lag()})`))).toEqual([
      ["a", "30"],
      ["c", "9"],
    ]);
    expect(valuesOf(await instant(`bottomk(2, ${lag()})`))).toEqual([
      ["e", "-1"],
      ["b", "5"],
    ]);
  });

  test("a ranking of more series than a response may have returns its few", async () => {
    const services = Array.from({ length: 120 }, (_, index) => `s${index}`);
    await start((service) => Number(service.slice(1)), services);
    expect((await instant(lag())).status).toBe(422);
    expect(valuesOf(await instant(`topk(2, ${lag()})`))).toEqual([
      ["s119", "119"],
      ["s118", "118"],
    ]);
  });

  test("a ranking of more than 2,000 series is rejected", async () => {
    await start(
      () => 1,
      Array.from({ length: 2_001 }, (_, index) => `s${index}`),
    );
    const rejected = await instant(`topk(2, ${lag()})`);
    expect([rejected.status, rejected.text]).toEqual([400, expect.stringContaining("ranks 2001 series")]);
  });
});
