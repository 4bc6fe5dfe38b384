// Results in the JSON of Prometheus' HTTP API. Errors and look-ups are elsewhere.
import { seriesMax } from "../../api/queries.ts";
import type { TimeSlices } from "../../limits/clock.ts";
import { invalidField } from "../errors/api-error.ts";
import type { Evaluated, ResultSeries } from "./evaluate/evaluate.ts";
import { sortedEntries } from "./evaluate/operators.ts";

/** Members of a response besides its data. */
export interface ResponseOptions {
  /** Most series; more are cut off with a warning. 0 is no limit. @default more than 50 are rejected */
  readonly limit?: number | undefined;
  readonly warnings: readonly string[];
  readonly isPartial: boolean;
  readonly slices: TimeSlices;
}

/** A successful response of `query` and `query_range`. */
interface EvaluatedResponse {
  /** The JSON of the response, written once. */
  readonly json: () => Promise<Uint8Array>;
}

/**
 * Gives a result the form of Prometheus' HTTP API.
 *
 * @throws ApiError `result_too_large` for too many series
 */
export function makeResponse(evaluated: Evaluated, options: ResponseOptions): EvaluatedResponse {
  const limited = limitSeries(evaluated, options);
  let written: Promise<Uint8Array> | undefined;
  return { json: () => (written ??= write(limited.evaluated, { ...options, warnings: limited.warnings })) };
}

function limitSeries(
  evaluated: Evaluated,
  { limit = 0, warnings }: ResponseOptions,
): { readonly evaluated: Evaluated; readonly warnings: readonly string[] } {
  if (evaluated.type === "scalar") return { evaluated, warnings };
  const count = evaluated.series.length;
  const isCut = limit > 0 && limit < count;
  const series = isCut ? evaluated.series.slice(0, limit) : evaluated.series;
  if (series.length > seriesMax) {
    const detail = `the result has ${count} series; group by fewer labels, or truncate it with limit=${seriesMax}`;
    throw invalidField("result_too_large", "limit", detail);
  }
  return isCut
    ? { evaluated: { ...evaluated, series }, warnings: [...warnings, "results truncated due to limit"] }
    : { evaluated, warnings };
}

async function write(evaluated: Evaluated, { warnings, isPartial, slices }: ResponseOptions): Promise<Uint8Array> {
  const result = await slices.collect(resultBytes(evaluated));
  const head = `{"status":"success"${isPartial ? ',"isPartial":true' : ""}`;
  const tail = warnings.length === 0 ? "" : `,"warnings":${JSON.stringify(warnings)}`;
  return Buffer.concat([
    Buffer.from(`${head},"data":{"resultType":"${evaluated.type}","result":[`),
    ...result,
    Buffer.from(`]}${tail}}`),
  ]);
}

/** The bytes of the result's elements with the commas between them. */
function* resultBytes(evaluated: Evaluated): Generator<Buffer, void> {
  const { stamps } = evaluated;
  if (evaluated.type === "scalar") {
    yield Buffer.from(`${timeText(stamps.startMs)},"${numberText(evaluated.value)}"`);
    return;
  }
  const { type, series } = evaluated;
  const [before, after] = type === "vector" ? ['"value":', "}"] : ['"values":[', "]}"];
  const times = Array.from({ length: stamps.count }, (_, index) => pointHead(stamps, index));
  for (const [index, one] of series.entries()) {
    const metric = `{"metric":${JSON.stringify(Object.fromEntries(sortedEntries(one.labels)))}`;
    yield Buffer.from(`${index === 0 ? "" : ","}${metric},${before}`);
    // Labels have any characters, points only those of one byte.
    yield Buffer.from(`${pointsText(one, times)}${after}`, "latin1");
  }
}

/** `,[1700000000,"` before the value of a point. */
function pointHead({ startMs, stepMs }: Evaluated["stamps"], index: number): string {
  return `,[${timeText(startMs + index * stepMs)},"`;
}

/** `[1700000000,"1.5"],…` of the present points. */
function pointsText({ values, present }: ResultSeries, heads: readonly string[]): string {
  let written = "";
  // Adjacent points often have one value, because points below the smallest step repeat.
  let [lastValue, lastText] = [0, "0"];
  for (const [index, head] of heads.entries()) {
    if (present[index] !== 1) continue;
    const value = values[index] ?? Number.NaN;
    if (!Object.is(value, lastValue)) [lastValue, lastText] = [value, numberText(value)];
    written += `${head}${lastText}"]`;
  }
  return written.slice(1);
}

/**
 * The text of a number as Prometheus writes it: Go's shortest decimal, with an exponent below 1e-6 and from 1e21. The
 * text of JavaScript differs in the exponent's digits, in infinities and in the sign of zero.
 */
export function numberText(value: number): string {
  if (Number.isFinite(value)) {
    if (Object.is(value, -0)) return "-0";
    const text = String(value);
    return Math.abs(value) >= 1e-6 || value === 0 ? text : text.replace(/e-(\d)$/u, "e-0$1");
  }
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

/** The text of a time as Prometheus writes it: Unix seconds, with three decimals unless it is a whole second. */
export function timeText(ms: number): string {
  return ms % 1_000 === 0 ? String(ms / 1_000) : (ms / 1_000).toFixed(3);
}
