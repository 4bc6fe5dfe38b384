import { describe, expect, test } from "vitest";
import { readInstant, readQuery, shown } from "../../../../runtime/metrics/request/parameters.ts";
import { refusalOf, refused } from "../refused.ts";
import { parameters } from "../oracle/universe.ts";

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
      window: { fromMs: 1_767_225_600_000, toMs: 1_767_229_200_000, stepSeconds: 60 },
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
    const { tsMs } = readInstant(
      parameters([
        ["metric", "m"],
        ["ts", "2026-01-01T00:00:00Z"],
      ]),
    );
    expect(tsMs).toBe(1_767_225_600_000);
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
