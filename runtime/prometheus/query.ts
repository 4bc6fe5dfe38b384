import type { TimeSlices } from "../../limits/clock.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import type { SelectorsRequest, SelectorsResult, SelectorTimes } from "../metrics/request/selector.ts";
import type { CompiledExpression, Program } from "./compile/program.ts";
import { evaluate, type Evaluated } from "./evaluate/evaluate.ts";
import type { FunctionCall, Expression } from "./language/expression.ts";
import { tryToParse } from "./language/parse-expression.ts";
import { isComparison, isSetOperator } from "./language/vocabulary.ts";
import { type PrometheusResponse, type PrometheusRequest, regionWarnings } from "./prometheus-api.ts";
import { callerCatalog, compileFor } from "./request/read-expression.ts";
import { firstOf, isCompleteRequired, readInstantTime, readLimit, readRange } from "./request/read-parameters.ts";
import { makeResponse } from "./response.ts";

/** The metrics API as expressions use it. */
export interface ExpressionSources extends Pick<MetricsApi, "describe" | "readable" | "admitEmpty" | "selectors"> {
  readonly slices: TimeSlices;
}

/** `query`. @throws ApiError */
export async function handleInstant(
  sources: ExpressionSources,
  request: PrometheusRequest,
): Promise<PrometheusResponse> {
  const timeMs = readInstantTime(request.params, request.context.nowMs);
  const probe = probeOf(firstOf(request.params, "query"));
  if (probe !== undefined) return handleProbe(sources, request, { probe, times: { timeMs } });
  const compiled = compileFor(callerCatalog(sources, request), request.params);
  const response = await evaluateAt(sources, request, { compiled, times: { timeMs } });
  // Without a time, an equal request has another time.
  return firstOf(request.params, "time") === undefined ? { ...response, revalidate: undefined } : response;
}

/** `query_range`. @throws ApiError */
export async function handleRange(sources: ExpressionSources, request: PrometheusRequest): Promise<PrometheusResponse> {
  const times = readRange(request.params);
  const probe = probeOf(firstOf(request.params, "query"));
  if (probe !== undefined) return handleProbe(sources, request, { probe, times });
  const compiled = compileFor(callerCatalog(sources, request), request.params);
  return evaluateAt(sources, request, { compiled, times });
}

async function handleProbe(
  { admitEmpty, slices }: ExpressionSources,
  { caller, context, params }: PrometheusRequest,
  { probe, times }: { readonly probe: NonNullable<ReturnType<typeof probeOf>>; readonly times: SelectorTimes },
): Promise<PrometheusResponse> {
  const headers = await admitEmpty(caller);
  const how = { isInstant: "timeMs" in times, slices };
  const evaluated = await probeResult(probe, stampsOf(times, context.nowMs), how);
  const response = makeResponse(evaluated, { limit: readLimit(params), warnings: [], isPartial: false, slices });
  return { headers, body: await response.json() };
}

interface TimedExpression {
  readonly compiled: CompiledExpression;
  readonly times: SelectorTimes;
}

async function evaluateAt(
  sources: ExpressionSources,
  request: PrometheusRequest,
  { compiled, times }: TimedExpression,
): Promise<PrometheusResponse> {
  const { slices } = sources;
  const limit = readLimit(request.params);
  const result = await read(sources, request, { compiled, times });
  const evaluated = await evaluate(compiled.program, result, { isInstant: "timeMs" in times, slices });
  const { isPartial, regions, unmatched = [], hints = [], headers, revalidate, sent } = result;
  const incomplete = isPartial ? regionWarnings(regions) : [];
  const warnings = [...incomplete, ...unmatched, ...hints];
  const response = makeResponse(evaluated, { limit, warnings, isPartial, slices });
  return { headers, body: await response.json(), revalidate, sent };
}

async function read(
  { selectors, admitEmpty }: ExpressionSources,
  { params, caller, tenant, signal, context }: PrometheusRequest,
  { compiled, times }: TimedExpression,
): Promise<SelectorsResult> {
  if (compiled.selectors.length === 0) return nothing(times, context.nowMs, await admitEmpty(caller));
  const request: SelectorsRequest = {
    selectors: compiled.selectors,
    times,
    tenant,
    isCompleteRequired: isCompleteRequired(params),
  };
  return selectors(request, caller, signal, context);
}

/** The stamps of an expression without a metric. */
function nothing(times: SelectorTimes, nowMs: number, headers: SelectorsResult["headers"]): SelectorsResult {
  return { stamps: stampsOf(times, nowMs), selectors: [], isPartial: false, regions: [], headers };
}

function stampsOf(times: SelectorTimes, nowMs: number): SelectorsResult["stamps"] {
  if ("timeMs" in times) return { startMs: times.timeMs, stepMs: 1_000, count: 1 };
  const { startMs, endMs, stepMs } = times;
  return { startMs, stepMs, count: Math.max(0, Math.floor((Math.min(endMs, nowMs) - startMs) / stepMs) + 1) };
}

// Expressions without a metric that clients send to see if a server responds: `vector(1)`, `time() - 60`. Constants are
// no part of the language next to metrics, where a number does the same.

type Stamps = SelectorsResult["stamps"];

/** A constant, computed like an expression over two selectors: the times of the stamps, and zeros. */
interface Probe {
  readonly type: "scalar" | "vector";
  readonly program: Program;
}

const names: ReadonlySet<string> = new Set(["vector", "time"]);
const namesOne = /\b(?:vector|time)\s*\(/u;
const times: Program = { kind: "leaf", index: 0 };
const zeros: Program = { kind: "leaf", index: 1 };

/** Recognizes a constant with `vector(…)` or `time()`; undefined for any other text. */
function probeOf(text: string | undefined): Probe | undefined {
  if (text === undefined || !namesOne.test(text)) return undefined;
  const expression = tryToParse(text, names);
  return expression instanceof Error ? undefined : constantOf(expression);
}

/** Undefined for a part that is not constant, and for types that Prometheus rejects. */
function constantOf(part: Expression): Probe | undefined {
  switch (part.kind) {
    case "number":
      return { type: "scalar", program: { kind: "number", value: part.value } };
    case "group":
      return constantOf(part.of);
    case "negate": {
      const of = constantOf(part.of);
      return of && { type: of.type, program: { kind: "negate", of: of.program } };
    }
    case "call":
      return constantCall(part);
    case "binary":
      return constantBinary(part);
    case "aggregate":
    case "selector":
    case "subquery":
      return undefined;
    default:
      return part satisfies never;
  }
}

function constantCall({ fn, args }: FunctionCall): Probe | undefined {
  const [argument, ...others] = args;
  if (fn === "time" && argument === undefined) return { type: "scalar", program: times };
  const of = fn === "vector" && others.length === 0 && argument !== undefined ? constantOf(argument) : undefined;
  if (of?.type !== "scalar") return undefined;
  const program = { kind: "binary", op: "+", isBool: false, left: zeros, right: of.program } as const;
  return { type: "vector", program };
}

function constantBinary({ op, isBool, ...sides }: Extract<Expression, { kind: "binary" }>): Probe | undefined {
  const [left, right] = [constantOf(sides.left), constantOf(sides.right)];
  if (left === undefined || right === undefined) return undefined;
  const scalars = [left, right].filter(({ type }) => type === "scalar").length;
  if (isSetOperator(op) && scalars > 0) return undefined;
  // Two numbers compare with bool only. Of a number and a vector the vector is kept, which `time()` here is too.
  if (isComparison(op) && !isBool && (scalars === 2 || left.type === "scalar")) return undefined;
  const program = { kind: "binary", op, isBool, left: left.program, right: right.program } as const;
  return { type: scalars === 2 ? "scalar" : "vector", program };
}

/** The result of a probe: of an instant a vector or a scalar, of a range a matrix. */
async function probeResult(
  { type, program }: Probe,
  stamps: Stamps,
  how: { readonly isInstant: boolean; readonly slices: TimeSlices },
): Promise<Evaluated> {
  const { startMs, stepMs, count } = stamps;
  const seconds = Float64Array.from({ length: count }, (_, index) => (startMs + index * stepMs) / 1_000);
  const selectors = [seconds, new Float64Array(count)].map((values) => ({ series: [{ labels: {}, values }] }));
  const evaluated = await evaluate(program, { stamps, selectors }, how);
  if (!how.isInstant || type === "vector" || evaluated.type === "scalar") return evaluated;
  return { type: "scalar", stamps, value: evaluated.series[0]?.values[0] ?? Number.NaN };
}
