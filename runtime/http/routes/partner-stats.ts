import {
  deliveryGroups,
  deliveryStatsHours,
  deliveryStatsRowsMax,
  deliveryStepNames,
} from "../../../api/delivery-stats.ts";
import { invalidField } from "../../errors/api-error.ts";
import { durationFault, parseDuration } from "../../metrics/request/time.ts";
import { type Parameters, readOne, readWord, rejectUnknown } from "../../metrics/request/parameters.ts";
import type { DeliveryStatsQuery } from "../../webhooks/history/delivery-stats.ts";
import type { EventReads } from "../../webhooks/history/event-reads.ts";
import type { PartnerList } from "../../webhooks/history/partner-list.ts";
import { partnersOf } from "../../webhooks/history/history-view.ts";
import type { PartnerStatsQuery } from "../../webhooks/history/partner-stats.ts";
import { deliveryStatsOperation, partnerStatsOperation } from "../openapi/partner-operations.ts";
import { readRoute, type Route } from "../server/route.ts";
import { readTime } from "./event-query.ts";

interface PartnerStatsService {
  readonly history: Pick<EventReads, "partnerStats">;
  readonly partnerList: Pick<PartnerList, "find">;
}

const names: readonly string[] = ["from", "to", "step"];
const pointsMax = 300;
const deliveryNames: readonly string[] = ["from", "to", "step", "group_by", "partner", "tenant"];
const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
/** Lengths of the steps of deliveries. */
const stepMinutes = { "1m": 1, "5m": 5, "15m": 15, "1h": 60 } as const;
/** The shortest of these that needs few enough points is the default. */
const usualSteps = [60, 300, 900, 3_600, 21_600, 86_400].map((seconds) => seconds * secondMs);

/** Figures of one partner over time. Another's partner is answered like one that does not exist. */
export function partnerStatsRoute({ history, partnerList }: PartnerStatsService): Route {
  const path = "/webhooks/partners/:namespace/:name/stats";
  return readRoute(path, ["webhooks:read"], partnerStatsOperation, async ({ path: segments, query, caller, nowMs }) => {
    const partner = `${segments["namespace"] ?? ""}/${segments["name"] ?? ""}`;
    const window = readStatsWindow(query, nowMs);
    const { tenants } = caller;
    await partnerList.find(partner, { tenants, ...partnersOf(caller) });
    const { points, isComplete } = await history.partnerStats({ partner, tenants, ...window });
    const [from, to] = [window.fromMs, window.toMs].map((ms) => new Date(ms).toISOString());
    const meta = { partner, from, to, step_seconds: window.stepMs / secondMs, complete: isComplete };
    return { data: points, meta };
  });
}

type StatsWindow = Pick<PartnerStatsQuery, "fromMs" | "toMs" | "stepMs">;

/** Reads the parameters; the window begins with a whole step. @throws ApiError 400 that names the parameter at fault */
export function readStatsWindow(query: Parameters, nowMs: number): StatsWindow {
  rejectUnknown(query, (name) => names.includes(name));
  const { fromMs, toMs } = readWindow(query, nowMs);
  const stepMs = readStepMs(query) ?? usualStep(toMs - fromMs);
  const startMs = Math.floor(fromMs / stepMs) * stepMs;
  const points = Math.ceil((toMs - startMs) / stepMs);
  if (points > pointsMax) {
    const detail = `the window has ${points} steps; use a step or a window with at most ${pointsMax}`;
    throw invalidField("invalid_step", "step", detail);
  }
  return { fromMs: startMs, toMs, stepMs };
}

function readStepMs(query: Parameters): number | undefined {
  const text = readOne(query, "step", "invalid_step");
  const seconds = text === undefined ? undefined : parseDuration(text);
  if (text !== undefined && seconds === undefined)
    throw invalidField("invalid_step", "step", `step ${durationFault(text, "10s, 1m or 1h")}`);
  return seconds === undefined ? undefined : seconds * secondMs;
}

function usualStep(windowMs: number): number {
  const fits = (stepMs: number): boolean => windowMs / stepMs <= pointsMax - 1;
  return usualSteps.find(fits) ?? Math.ceil(windowMs / (pointsMax - 1) / dayMs) * dayMs;
}

/** Figures of deliveries. Other callers' partners and tenants have no rows, like those that do not exist. */
export function deliveryStatsRoute({ history }: { readonly history: Pick<EventReads, "deliveryStats"> }): Route {
  return readRoute("/webhooks/stats", ["webhooks:read"], deliveryStatsOperation, async ({ query, caller, nowMs }) => {
    const read = readDeliveryStatsQuery(query, nowMs);
    const found = await history.deliveryStats({ ...read, ...partnersOf(caller), tenants: caller.tenants });
    if (found === undefined) {
      const advice = "use a longer step, such as 1h, a shorter window, or one partner or tenant";
      throw invalidField("invalid_step", "step", `there are more than ${deliveryStatsRowsMax} rows; ${advice}`);
    }
    const { rows, totals, isComplete, completeFromMs } = found;
    const [from, to, completeFrom] = [read.fromMs, read.toMs, completeFromMs].map((ms) => new Date(ms).toISOString());
    const window = { from, to, step_seconds: read.stepMs / secondMs, group_by: read.groupBy ?? null };
    return { data: rows, totals, meta: { ...window, complete: isComplete, complete_from: completeFrom } };
  });
}

type ReadQuery = Omit<DeliveryStatsQuery, "tenants" | "partners">;

/** Reads the parameters; the window starts with a whole step. @throws ApiError 400 that names the parameter at fault */
export function readDeliveryStatsQuery(query: Parameters, nowMs: number): ReadQuery {
  rejectUnknown(query, (name) => deliveryNames.includes(name));
  const { fromMs, toMs: endMs } = readKeptWindow(query, nowMs);
  const stepMs = readDeliveryStepMs(query, endMs - fromMs);
  const startMs = Math.floor(fromMs / stepMs) * stepMs;
  const toMs = Math.ceil(endMs / minuteMs) * minuteMs;
  const groupBy = readWord(query, "group_by", deliveryGroups);
  const steps = Math.ceil((toMs - startMs) / stepMs);
  if (steps > deliveryStatsRowsMax) {
    const detail = `the window has ${steps} steps; use a longer step or a window with at most ${deliveryStatsRowsMax}`;
    throw invalidField("invalid_step", "step", detail);
  }
  const [partner, tenant] = [readOne(query, "partner"), readOne(query, "tenant")];
  return { partner, tenant, groupBy, fromMs: startMs, toMs, stepMs };
}

/** A day up to now by default. */
function readWindow(query: Parameters, nowMs: number): { readonly fromMs: number; readonly toMs: number } {
  const toMs = Math.min(readTime(query, "to") ?? nowMs, nowMs);
  const fromMs = readTime(query, "from") ?? toMs - dayMs;
  if (fromMs >= toMs)
    throw invalidField("invalid_window", "from", "from is not before to and now; use an earlier from");
  return { fromMs, toMs };
}

/** A window for which statistics are kept. */
function readKeptWindow(query: Parameters, nowMs: number): ReturnType<typeof readWindow> {
  const window = readWindow(query, nowMs);
  // A minute of grace lets a caller compute the oldest time itself.
  if (window.fromMs < nowMs - deliveryStatsHours * hourMs - minuteMs) {
    const detail = `from is more than ${deliveryStatsHours} hours ago, for which statistics are kept; use a later from`;
    throw invalidField("invalid_window", "from", detail);
  }
  return window;
}

function readDeliveryStepMs(query: Parameters, windowMs: number): number {
  const name = readWord(query, "step", deliveryStepNames, "invalid_step");
  const fits = (step: (typeof deliveryStepNames)[number]): boolean =>
    windowMs / (stepMinutes[step] * minuteMs) <= pointsMax;
  return stepMinutes[name ?? deliveryStepNames.find(fits) ?? "1h"] * minuteMs;
}
