import { rankedSeriesMax, rankings, rankOrders } from "../../../api/queries.ts";
import { invalidField } from "../../errors/api-error.ts";
import { isLabelName, shown } from "./known-names.ts";
import { type Parameters, readOne, readWord } from "./parameters.ts";
import { formatAlike, formatDuration, readDuration } from "./time.ts";
import { niceStepsSeconds, type ResolvedWindow } from "./window.ts";

/** The series of each metric that a response has, by a value of the window. */
export interface Ranking {
  readonly count: number;
  readonly by: (typeof rankings)[number];
  readonly order: (typeof rankOrders)[number];
}

/** Parameters of queries that compare series with each other. */
export const comparisonNames = ["top", "by", "order", "compare"];

/** How the series of a response are compared with each other. */
export interface Comparison {
  /** @default every series, by its labels */
  readonly ranking?: Ranking | undefined;
  /** The time between the window and an earlier one. @default no earlier window */
  readonly compareSeconds?: number | undefined;
}

/** Parses the parameters of a comparison. @throws ApiError `invalid_top`, `invalid_compare` */
export function readComparison(params: Parameters): Comparison {
  return { ranking: readRanking(params), compareSeconds: readCompare(params) };
}

function readCompare(params: Parameters): number | undefined {
  return readDuration(params, "compare", "invalid_compare", "1d or 1w");
}

/** Parses `top`, `by` and `order`; undefined without `top`. */
function readRanking(params: Parameters): Ranking | undefined {
  const text = readOne(params, "top", "invalid_top");
  rejectLabels(params);
  const by = readWord(params, "by", rankings, "invalid_top");
  const order = readWord(params, "order", rankOrders, "invalid_top");
  if (text !== undefined) return { count: countOf(text), by: by ?? "max", order: order ?? "desc" };
  const lone = by === undefined ? (order === undefined ? undefined : "order") : "by";
  if (lone === undefined) return undefined;
  throw invalidField("invalid_top", lone, `${lone} ranks the series of top; add top= or remove ${lone}`);
}

/** @throws ApiError for labels in `by`, which PromQL groups by */
function rejectLabels(params: Parameters): void {
  const labels = params.get("by")?.[0]?.split(",") ?? [];
  if (labels.length === 0 || !labels.every(isLabelName)) return;
  const detail = `by ranks the series of top by ${rankings.join(", ")}; to group by labels, write group_by`;
  throw invalidField("invalid_top", "by", detail);
}

function countOf(text: string): number {
  const count = /^[1-9]\d{0,8}$/u.test(text) ? Number(text) : Number.NaN;
  if (count <= rankedSeriesMax) return count;
  throw invalidField(
    "invalid_top",
    "top",
    `top=${shown(text)} is not valid; use an integer from 1 to ${rankedSeriesMax}`,
  );
}

/**
 * The window that is some seconds earlier. The points of both windows are multiples of the step, so that both are read
 * and cached like any other window.
 *
 * @throws ApiError `invalid_compare`
 */
export function earlierWindow(window: ResolvedWindow, seconds: number): ResolvedWindow {
  const { stepSeconds } = window;
  if (seconds % stepSeconds !== 0) throw notAligned(seconds, stepSeconds);
  const [fromMs, toMs] = [window.fromMs - seconds * 1_000, window.toMs - seconds * 1_000];
  if (fromMs >= 0) return { ...window, fromMs, toMs };
  throw invalidField("invalid_compare", "compare", "the earlier window begins before 1970; use a shorter duration");
}

function notAligned(seconds: number, stepSeconds: number) {
  const [distance, own] = formatAlike(seconds, stepSeconds);
  const step = niceStepsSeconds.find((nice) => nice >= stepSeconds && seconds % nice === 0);
  const advice =
    step === undefined ? "use a longer one that is a multiple of the step" : `use step=${formatDuration(step)}`;
  const detail = `compare=${distance} is not a multiple of the step of ${own}, so no points align; ${advice}`;
  const more = step === undefined ? {} : { suggestion: { step: formatDuration(step) } };
  return invalidField("invalid_compare", "compare", detail, more);
}
