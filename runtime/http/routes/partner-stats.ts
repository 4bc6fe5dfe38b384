import { refuseField } from "../../errors/refusal.ts";
import { parseDuration } from "../../metrics/request/time.ts";
import { type Parameters, readOne, refuseUnknown } from "../../metrics/request/parameters.ts";
import type { EventReads } from "../../webhooks/history/event-reads.ts";
import type { PartnerList } from "../../webhooks/history/partner-list.ts";
import { partnersOf } from "../../webhooks/history/partner-access.ts";
import type { PartnerStatsQuery } from "../../webhooks/history/partner-stats.ts";
import { partnerStatsOperation } from "../openapi/partner-operations.ts";
import { readRoute, type Route } from "../server/route.ts";
import { readTime } from "./event-query.ts";

interface PartnerStatsService {
  readonly history: Pick<EventReads, "partnerStats">;
  readonly partnerList: Pick<PartnerList, "find">;
}

const names: readonly string[] = ["from", "to", "step"];
const pointsMax = 300;
const secondMs = 1_000;
const dayMs = 86_400_000;
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

/** Reads the parameters; the window begins with a whole step. @throws Refusal 400 that names the parameter at fault */
export function readStatsWindow(query: Parameters, nowMs: number): StatsWindow {
  refuseUnknown(query, (name) => names.includes(name));
  const toMs = Math.min(readTime(query, "to") ?? nowMs, nowMs);
  const fromMs = readTime(query, "from") ?? toMs - dayMs;
  if (fromMs >= toMs) throw refuseField("invalid_window", "from", "from is not before to and now; use an earlier from");
  const stepMs = readStepMs(query) ?? usualStep(toMs - fromMs);
  const startMs = Math.floor(fromMs / stepMs) * stepMs;
  const points = Math.ceil((toMs - startMs) / stepMs);
  if (points > pointsMax) {
    const detail = `the window has ${points} steps; use a step or a window with at most ${pointsMax}`;
    throw refuseField("invalid_step", "step", detail);
  }
  return { fromMs: startMs, toMs, stepMs };
}

function readStepMs(query: Parameters): number | undefined {
  const text = readOne(query, "step", "invalid_step");
  const seconds = text === undefined ? undefined : parseDuration(text);
  if (text !== undefined && seconds === undefined) {
    throw refuseField("invalid_step", "step", "step is not a duration; use one such as 10s, 1m or 1h");
  }
  return seconds === undefined ? undefined : seconds * secondMs;
}

function usualStep(windowMs: number): number {
  const fits = (stepMs: number): boolean => windowMs / stepMs <= pointsMax - 1;
  return usualSteps.find(fits) ?? Math.ceil(windowMs / (pointsMax - 1) / dayMs) * dayMs;
}
