import type { TimeSlices } from "../../limits/time-slices.ts";
import type { LeavesRequest, LeavesResult, LeafTimes } from "../metrics/leaves/leaf.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import { makeAnswer } from "./answer/answer.ts";
import type { CompiledExpression } from "./compile/program.ts";
import { evaluate } from "./evaluate/evaluate.ts";
import type { PrometheusAnswer, PrometheusRequest } from "./prometheus-api.ts";
import { probeOf, probeResult } from "./probe-expressions.ts";
import { regionWarnings } from "./region-warnings.ts";
import { firstOf, isCompleteRequired, readInstantTime, readLimit, readRange } from "./request/read-parameters.ts";
import { compileFor } from "./request/read-expression.ts";
import { callerCatalog } from "./request/caller-catalog.ts";

/** The metrics API as expressions use it. */
export interface ExpressionSources extends Pick<MetricsApi, "describe" | "readable" | "admitEmpty" | "leaves"> {
  readonly slices: TimeSlices;
}

/** `query`. @throws Refusal */
export async function answerInstant(sources: ExpressionSources, request: PrometheusRequest): Promise<PrometheusAnswer> {
  const timeMs = readInstantTime(request.params, request.context.nowMs);
  const probe = probeOf(firstOf(request.params, "query"));
  if (probe !== undefined) return answerProbe(sources, request, { probe, times: { timeMs } });
  const compiled = compileFor(callerCatalog(sources, request), request.params);
  const answer = await answerAt(sources, request, { compiled, times: { timeMs } });
  // Without a time, an equal request has another time.
  return firstOf(request.params, "time") === undefined ? { ...answer, again: undefined } : answer;
}

/** `query_range`. @throws Refusal */
export async function answerRange(sources: ExpressionSources, request: PrometheusRequest): Promise<PrometheusAnswer> {
  const times = readRange(request.params);
  const probe = probeOf(firstOf(request.params, "query"));
  if (probe !== undefined) return answerProbe(sources, request, { probe, times });
  const compiled = compileFor(callerCatalog(sources, request), request.params);
  return answerAt(sources, request, { compiled, times });
}

async function answerProbe(
  { admitEmpty, slices }: ExpressionSources,
  { caller, context, params }: PrometheusRequest,
  { probe, times }: { readonly probe: NonNullable<ReturnType<typeof probeOf>>; readonly times: LeafTimes },
): Promise<PrometheusAnswer> {
  const headers = await admitEmpty(caller);
  const how = { isInstant: "timeMs" in times, slices };
  const evaluated = await probeResult(probe, stampsOf(times, context.nowMs), how);
  const answer = makeAnswer(evaluated, { limit: readLimit(params), warnings: [], isPartial: false, slices });
  return { headers, body: await answer.json() };
}

interface Asked {
  readonly compiled: CompiledExpression;
  readonly times: LeafTimes;
}

async function answerAt(
  sources: ExpressionSources,
  request: PrometheusRequest,
  { compiled, times }: Asked,
): Promise<PrometheusAnswer> {
  const { slices } = sources;
  const limit = readLimit(request.params);
  const result = await read(sources, request, { compiled, times });
  const evaluated = await evaluate(compiled.program, result, { isInstant: "timeMs" in times, slices });
  const { isPartial, regions, unmatched = [], hints = [], headers, again } = result;
  const incomplete = isPartial ? regionWarnings(regions) : [];
  const warnings = [...incomplete, ...unmatched, ...hints];
  const answer = makeAnswer(evaluated, { limit, warnings, isPartial, slices });
  return { headers, body: await answer.json(), again };
}

async function read(
  { leaves, admitEmpty }: ExpressionSources,
  { params, caller, tenant, signal, context }: PrometheusRequest,
  { compiled, times }: Asked,
): Promise<LeavesResult> {
  if (compiled.leaves.length === 0) return nothing(times, context.nowMs, await admitEmpty(caller));
  const request: LeavesRequest = {
    leaves: compiled.leaves,
    times,
    tenant,
    isCompleteRequired: isCompleteRequired(params),
  };
  return leaves(request, caller, signal, context);
}

/** The stamps of an expression without a metric. */
function nothing(times: LeafTimes, nowMs: number, headers: LeavesResult["headers"]): LeavesResult {
  return { stamps: stampsOf(times, nowMs), leaves: [], isPartial: false, regions: [], headers };
}

function stampsOf(times: LeafTimes, nowMs: number): LeavesResult["stamps"] {
  if ("timeMs" in times) return { startMs: times.timeMs, stepMs: 1_000, count: 1 };
  const { startMs, endMs, stepMs } = times;
  return { startMs, stepMs, count: Math.max(0, Math.floor((Math.min(endMs, nowMs) - startMs) / stepMs) + 1) };
}
