import { describe, expect, test } from "vitest";
import { shown } from "../../../../runtime/metrics/request/known-names.ts";
import { readInstant, readQuery } from "../../../../runtime/metrics/request/read-query.ts";
import { parameters } from "../oracle/universe.ts";
import { refusalOf, refused } from "../refused.ts";

type Pairs = readonly (readonly [string, string])[];
const read = (pairs: Pairs) => readQuery(parameters([["metric", "m"], ...pairs]));

describe("the parameters of a query (Operational Metrics API §4.1)", () => {
  test("are parsed into one closed form", () => {
    const asked: Pairs = [
      ["metric", "b"],
      ["metric", "a"],
      ["metric", "b"],
      ["from", "2026-01-01T00:00:00Z"],
      ["to", "2026-01-01T01:00:00Z"],
      ["step", "1m"],
      ["agg", "p95"],
      ["filter[tenant]", "brand-a"],
      ["filter[psp]", "acme"],
      ["group_by", "service,psp"],
      ["downsample", "5m"],
      ["exemplars", "true"],
      ["limit", "10"],
      ["page", "2"],
      ["snapshot", "abc"],
      ["schema_version", "7"],
      ["complete", "required"],
    ];
    expect(readQuery(parameters(asked))).toEqual({
      selection: {
        metrics: ["a", "b"],
        aggregation: "p95",
        filters: new Map([
          ["psp", ["acme"]],
          ["tenant", ["brand-a"]],
        ]),
        groupBy: ["psp", "service"],
        downsample: "5m",
        exemplars: true,
        isCompleteRequired: true,
        limit: 10,
        page: 2,
        snapshot: "abc",
        schemaVersion: "7",
      },
      window: { from: { atMs: 1_767_225_600_000 }, to: { atMs: 1_767_229_200_000 }, stepSeconds: 60 },
    });
  });

  test("are equal for any order in the URL", () => {
    const asked: Pairs = [
      ["metric", "b"],
      ["metric", "a"],
      ["group_by", "psp,geo"],
      ["filter[geo]", "x"],
      ["filter[psp]", "y"],
    ];
    const [one, other] = [readQuery(parameters(asked)), readQuery(parameters([...asked].reverse()))];
    expect(other).toEqual(one);
    expect([...other.selection.filters.keys()]).toEqual([...one.selection.filters.keys()]);
  });

  const refusals: readonly (readonly [sentence: string, pairs: Pairs, refusal: string])[] = [
    ["an unknown parameter", [["stepp", "1m"]], "unknown_parameter stepp"],
    ["the time of an instant", [["ts", "2026-01-01T00:00:00Z"]], "unknown_parameter ts"],
    ["a filter without brackets", [["filter.psp", "x"]], "unknown_parameter filter.psp"],
    ["a step that is no duration", [["step", "soon"]], "invalid_step step"],
    ["an empty step", [["step", ""]], "invalid_step step"],
    [
      "two steps",
      [
        ["step", "1m"],
        ["step", "5m"],
      ],
      "invalid_step step",
    ],
    ["a from that is no time", [["from", "yesterday"]], "invalid_time from"],
    ["a to that is no time", [["to", "2026-02-30T00:00:00Z"]], "invalid_time to"],
    ["an aggregation of another kind", [["agg", "p90"]], "invalid_aggregation agg"],
    ["a downsample of another width", [["downsample", "2m"]], "invalid_downsample downsample"],
    ["exemplars=yes", [["exemplars", "yes"]], "invalid_request exemplars"],
    ["limit=0", [["limit", "0"]], "invalid_limit limit"],
    ["limit=51", [["limit", "51"]], "invalid_limit limit"],
    ["limit=1.5", [["limit", "1.5"]], "invalid_limit limit"],
    ["page=0", [["page", "0"]], "invalid_page page"],
    ["page=-1", [["page", "-1"]], "invalid_page page"],
    [
      "a second filter on one label",
      [
        ["filter[psp]", "a"],
        ["filter[psp]", "b"],
      ],
      "invalid_filter filter[psp]",
    ],
    ["an empty filter", [["filter[tenant]", ""]], "invalid_filter filter[tenant]"],
    ["a filter outside of the closed list", [["filter[color]", "red"]], "invalid_filter filter[color]"],
    ["a filter without a label", [["filter[]", "red"]], "invalid_filter filter[]"],
    ["a filter by user", [["filter[userId]", "7"]], "forbidden_label filter[userId]"],
    ["a filter by session in another spelling", [["filter[session_id]", "7"]], "forbidden_label filter[session_id]"],
    ["a filter by card", [["filter[cardNumber]", "7"]], "forbidden_label filter[cardNumber]"],
    ["a card number as a value", [["filter[psp]", "4111 1111 1111 1111"]], "invalid_filter filter[psp]"],
    ["grouping outside of the closed list", [["group_by", "service,color"]], "invalid_group_by group_by"],
    ["grouping by user", [["group_by", "service,userId"]], "forbidden_label group_by"],
    ["grouping by a label twice", [["group_by", "psp,psp"]], "invalid_group_by group_by"],
    ["grouping by nothing", [["group_by", "psp,"]], "invalid_group_by group_by"],
  ];
  test.each(refusals)("refuse %s by name (§4.7)", (_sentence, pairs, refusal) => {
    expect(refused(() => read(pairs))).toBe(refusal);
  });

  test("take several values of a filter in a parameter of its own", () => {
    const { selection } = read([
      ["filter_in[psp]", "b"],
      ["filter_in[psp]", "a,c"],
      ["filter_in[psp]", "b"],
      ["filter[geo]", "x,y"],
    ]);
    expect([...selection.filters]).toEqual([
      ["geo", ["x,y"]],
      ["psp", ["a,c", "b"]],
    ]);
  });

  test("take the last hours in place of a start", () => {
    expect(read([["last", "3h"]]).window).toEqual({
      from: { agoMs: 10_800_000 },
      to: undefined,
      stepSeconds: undefined,
    });
  });

  const advised: readonly (readonly [sentence: string, pairs: Pairs, detail: string])[] = [
    ["a label without brackets", [["region", "eu"]], "write filter[region]=eu"],
    ["a label without brackets whose value is not shown", [["psp", "4111111111111111"]], "write filter[psp]=VALUE"],
    ["another name of the start", [["start", "now-1h"]], "write from"],
    ["another name of the labels to group by", [["by", "psp"]], "write group_by"],
    ["a misspelled parameter", [["stpe", "1m"]], "did you mean step?"],
    [
      "a repeated filter",
      [
        ["filter[psp]", "a"],
        ["filter[psp]", "b"],
      ],
      "use filter_in[psp] for several values",
    ],
    ["a filter with a point", [["filter.psp", "x"]], "did you mean filter[psp]?"],
    ["a parameter like no other", [["color", "red"]], "color is not a parameter of this route; remove it"],
    ["a misspelled label", [["filter[servise]", "x"]], "servise is not a label; did you mean service?"],
    ["another name of an aggregation", [["agg", "mean"]], "did you mean avg?"],
    [
      "both forms of a filter",
      [
        ["filter[psp]", "a"],
        ["filter_in[psp]", "b"],
      ],
      "use one of them",
    ],
    [
      "last beside a start",
      [
        ["last", "1h"],
        ["from", "now-2h"],
      ],
      "last cannot be combined with from or to",
    ],
    ["a last that is no duration", [["last", "1 hour"]], "use one such as 30m, 6h or 7d"],
    ["milliseconds", [["from", "1767225600000"]], "use seconds, 1767225600"],
    ["a time without a zone", [["to", "2026-01-01T00:00:00"]], "2026-01-01T00:00:00Z for UTC"],
    ["a day", [["from", "2026-01-01"]], "write 2026-01-01T00:00:00Z"],
    ["a distance alone", [["from", "-3h"]], "write now-3h"],
    ["a time rounded to weeks", [["from", "now/w"]], "only be rounded to /s, /m, /h or /d"],
  ];
  test.each(advised)("say what to write in the place of %s", (_sentence, pairs, detail) => {
    expect(refusalOf(() => read(pairs)).message).toContain(detail);
  });

  test("name the labels and aggregations of the metric of the request", () => {
    const names = () => ({ of: "m", labels: ["service" as const], aggregations: ["max" as const, "avg" as const] });
    const detail = (name: string, value: string) =>
      refusalOf(() =>
        readQuery(
          parameters([
            ["metric", "m"],
            [name, value],
          ]),
          names,
        ),
      ).message;
    expect(detail("agg", "maximum")).toBe(
      "agg=maximum is not an aggregation of m; did you mean max? use one of max, avg",
    );
    expect(detail("group_by", "servce")).toBe("servce is not a label of m; did you mean service? use one of service");
    expect(detail("filter[color]", "red")).toBe(
      "color is not a label of m; use one of service, tenant, region, environment",
    );
  });

  test("refuse a query without a metric", () => {
    expect(refused(() => readQuery(parameters([])))).toBe("invalid_request metric");
  });

  test("leave a refused value out of the error, because it can be personal data", () => {
    const refusal = refusalOf(() => read([["filter[psp]", "4111111111111111"]]));
    expect(JSON.stringify([refusal.message, refusal.errors])).not.toContain("4111");
  });
});

describe("the parameters of an instant (Operational Metrics API §4.3)", () => {
  test("have one time and no window", () => {
    const { ts } = readInstant(
      parameters([
        ["metric", "m"],
        ["ts", "2026-01-01T00:00:00Z"],
      ]),
    );
    expect(ts).toEqual({ atMs: 1_767_225_600_000 });
    expect(
      refused(() =>
        readInstant(
          parameters([
            ["metric", "m"],
            ["step", "1m"],
          ]),
        ),
      ),
    ).toBe("unknown_parameter step");
  });
});

test("a caller's text is shown bounded and on one line", () => {
  expect(shown("a\r\nb\u202e")).toBe("a  b ");
  expect(shown("x".repeat(500))).toHaveLength(81);
});
