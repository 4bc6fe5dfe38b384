import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTimeSlices } from "../../limits/clock.ts";
import { compileExpression } from "../../runtime/prometheus/compile/compile.ts";
import { evaluate } from "../../runtime/prometheus/evaluate/evaluate.ts";
import { parseExpression } from "../../runtime/prometheus/language/parse-expression.ts";
import { textOf } from "../architecture/named-files.ts";
import { knownMetrics } from "../runtime/prometheus/known-metrics.ts";
import { startPrometheus, type PrometheusHandle } from "../support/prometheus.ts";

let server: PrometheusHandle;
beforeAll(async () => {
  server = await startPrometheus();
});
afterAll(async () => server?.stop());

/** The only other query of the table has this value. */
const other = 7;

const [, section = ""] = textOf("docs/reference/promql.md").split("\n## Absent points\n");
const [own = ""] = section.split("\n## ");
const rows = [...own.matchAll(/^\| `(?<text>[^`]+)` \| (?<ours>[^|]+) \| (?<theirs>[^|]+) \|$/gmu)].map(
  ({ groups }) => [groups?.["text"] ?? "", valueOf(groups?.["ours"]), valueOf(groups?.["theirs"])] as const,
);

/** The values that a cell says in words. */
function valueOf(words = ""): readonly number[] {
  if (words === "no point") return [];
  return [/^the (?:left|right) side$/u.test(words) ? other : Number.parseFloat(words)];
}

/** Our values when the ratio has no events. */
async function evaluateWithout(text: string): Promise<readonly number[]> {
  const { program, selectors } = compileExpression(parseExpression(text), (id) => knownMetrics.get(id));
  const series = selectors.map(({ metric }) => ({
    series: [{ labels: {}, values: Float64Array.of(metric === "success_rate" ? Number.NaN : other) }],
  }));
  const stamps = { startMs: 0, stepMs: 1_000, count: 1 };
  const evaluation = { isInstant: true, slices: createTimeSlices() };
  const evaluated = await evaluate(program, { stamps, selectors: series }, evaluation);
  return evaluated.type === "scalar" ? [evaluated.value] : evaluated.series.flatMap(({ values }) => [...values]);
}

/** What Prometheus computes with NaN in the place of the ratio. */
async function askPrometheus(text: string): Promise<readonly number[]> {
  const query = text
    .replaceAll("avg(avg_over_time(success_rate[5m]))", "(vector(0) / vector(0))")
    .replaceAll("sum(rate(requests[5m]))", `vector(${other})`);
  const response = await fetch(`${server.url}/api/v1/query`, { method: "POST", body: new URLSearchParams({ query }) });
  const { data } = (await response.json()) as { data: { result: readonly { value: readonly [number, string] }[] } };
  return data.result.map(({ value }) => Number(value[1]));
}

describe("docs/reference/promql.md says of a ratio without events", () => {
  test("what six expressions give", () => {
    expect(rows).toHaveLength(6);
  });

  test.each(rows)("what %s gives here and in Prometheus", async (text, ours, theirs) => {
    expect(await evaluateWithout(text)).toEqual(ours);
    expect(await askPrometheus(text)).toEqual(theirs);
  });
});
