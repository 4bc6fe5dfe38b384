import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oneOf, printVector, type Matcher } from "../../../../runtime/metrics/promql/promql.ts";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";

let server: PrometheusHandle;
beforeAll(async () => {
  server = await startPrometheus({ flags: ["--enable-feature=promql-extended-range-selectors"] });
});
afterAll(async () => server?.stop());

async function call(
  path: string,
  query: string,
): Promise<{ readonly status: string; readonly data: unknown; readonly error?: string }> {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method: "POST",
    body: new URLSearchParams({ query }),
  });
  return (await response.json()) as { readonly status: string; readonly data: unknown };
}

/** Text that would like to be syntax, and any other text. */
const hostile = fc.oneof(
  fc.constantFrom(
    '"} or vector(1) #',
    '"} or {__name__=~".+"} #',
    '\\"} or vector(1) #',
    "\\",
    "`",
    "'",
    "\n} or vector(1)",
    "{{ }}",
    "$1",
    ".*",
    "a|b",
    "(",
    "[",
    "\\x22}",
    "\\Q",
    "\u2028",
    "\u202e",
    "\u0000",
    "\u{10ffff}",
    "#",
    "%s",
    "",
  ),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ unit: "grapheme", maxLength: 30 }),
);
/** Any name but the ones that the tree itself uses. */
const labelName = hostile.filter((name) => name !== "" && name !== "__name__");

describe("a value or a name of a caller or a catalog", () => {
  test("is only that value for the parser of Prometheus", { timeout: 60_000 }, async () => {
    const matchers = fc.array(
      fc.record({ label: labelName, op: fc.constantFrom("=" as const, "!=" as const), value: hostile }),
      { maxLength: 3 },
    );
    const names = hostile.filter((name) => name !== "");
    await fc.assert(
      fc.asyncProperty(names, matchers, fc.uniqueArray(labelName, { maxLength: 2 }), async (name, given, by) => {
        const of = { kind: "over", fn: "increase", of: { name, matchers: given }, rangeMs: 60_000 } as const;
        const parsed = await call("parse_query", printVector({ kind: "aggregate", op: "sum", by, of }, "LeftOpen"));
        expect(parsed).toMatchObject({
          status: "success",
          data: {
            type: "aggregation",
            op: "sum",
            grouping: by,
            expr: {
              type: "call",
              func: { name: "increase" },
              args: [{ type: "matrixSelector", range: 60_000, matchers: expect.any(Array) as unknown }],
            },
          },
        });
        expect(sorted(matchersOf(parsed.data))).toEqual(
          sorted([
            { name: "__name__", type: "=", value: name },
            ...given.map(({ label, op, value }) => ({ name: label, type: op, value })),
          ]),
        );
      }),
      { seed: 11, numRuns: 600 },
    );
  });

  test("matches only itself among several", { timeout: 60_000 }, async () => {
    /** Whether the store's own expressions find a label value that `matcher` allows. */
    const allows = async (matcher: Matcher, value: string): Promise<boolean> => {
      const labelled = `label_replace(vector(0), "x", ${JSON.stringify(value.replaceAll("$", "$$$$"))}, "", "")`;
      const answer = await call(
        "query",
        `label_replace(${labelled}, "hit", "yes", "x", ${JSON.stringify(matcher.value)})`,
      );
      expect(answer.error).toBeUndefined();
      return JSON.stringify(answer.data).includes('"hit":"yes"');
    };
    const values = fc.uniqueArray(
      hostile.filter((value) => value !== ""),
      { minLength: 2, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(values, hostile, async (allowed, candidate) => {
        const matcher = oneOf("x", allowed);
        expect(matcher.op).toBe("=~");
        expect(await allows(matcher, candidate)).toBe(allowed.includes(candidate));
        expect(await allows(matcher, allowed[0] ?? "")).toBe(true);
        expect(await allows(oneOf("x", []), candidate)).toBe(false);
      }),
      { seed: 12, numRuns: 150 },
    );
  });
});

interface ParsedMatcher {
  readonly name: string;
  readonly type: string;
  readonly value: string;
}

function matchersOf(data: unknown): readonly ParsedMatcher[] {
  const { expr } = data as {
    readonly expr: { readonly args: readonly { readonly matchers: readonly ParsedMatcher[] }[] };
  };
  return expr.args[0]?.matchers ?? [];
}

function sorted(matchers: readonly ParsedMatcher[]): readonly string[] {
  return matchers.map((matcher) => JSON.stringify([matcher.name, matcher.type, matcher.value])).sort();
}
