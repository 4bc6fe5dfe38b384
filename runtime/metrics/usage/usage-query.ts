import { usageGroups, usageHours } from "../../../api/usage.ts";
import { queryClasses } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import { hourMs, type UsageHour } from "../admission/usage-counts.ts";
import { type Parameters, readOne, readWord, rejectUnknown } from "../request/parameters.ts";
import { shown } from "../request/known-names.ts";
import { endAt, parseDuration, parseRequestedTime, timeAt, wrongTime } from "../request/time.ts";

/** What rows are grouped by. */
export type UsageGroup = (typeof usageGroups)[number];

const names: readonly string[] = ["from", "to", "step", "group_by", "client", "tenant", "metric", "class", "csv"];
const hourSeconds = 3_600;
const dayHours = 24;
/** A caller may compute the oldest time itself. */
const graceMs = 10 * 60_000;

/** A request for usage. */
export interface UsageQuery {
  readonly fromHour: UsageHour;
  /** The first hour after the window. */
  readonly toHour: UsageHour;
  /** Undefined: one row for each group. */
  readonly stepHours: number | undefined;
  readonly groupBy: readonly UsageGroup[];
  /** Only rows with these names. */
  readonly only: Readonly<Partial<Record<UsageGroup, string>>>;
}

/** Reads the parameters. @throws ApiError 400 that names the parameter at fault */
export function readUsageQuery(params: Parameters, nowMs: number): UsageQuery {
  rejectUnknown(params, (name) => names.includes(name), names);
  const toMs = Math.min(readTime(params, "to", nowMs) ?? nowMs, nowMs);
  const fromMs = readTime(params, "from", nowMs) ?? toMs - dayHours * hourMs;
  if (fromMs >= toMs)
    throw invalidField("invalid_window", "from", "from is not before to and now; use an earlier from");
  if (fromMs < nowMs - usageHours * hourMs - graceMs) {
    const detail = `from is more than ${usageHours / dayHours} days ago, for which usage is kept; use a later from`;
    throw invalidField("invalid_window", "from", detail);
  }
  const stepHours = readStepHours(params);
  const unit = stepHours ?? 1;
  return {
    fromHour: Math.floor(fromMs / hourMs / unit) * unit,
    toHour: Math.ceil(toMs / hourMs),
    stepHours,
    groupBy: readGroups(params),
    only: {
      ...onlyOf("client", readOne(params, "client")),
      ...onlyOf("tenant", readOne(params, "tenant")),
      ...onlyOf("metric", readOne(params, "metric")),
      ...onlyOf("class", readWord(params, "class", queryClasses)),
    },
  };
}

function onlyOf(group: UsageGroup, name: string | undefined): UsageQuery["only"] {
  return name === undefined ? {} : { [group]: name };
}

function readTime(params: Parameters, name: "from" | "to", nowMs: number): number | undefined {
  const text = readOne(params, name, "invalid_time");
  if (text === undefined) return undefined;
  const time = parseRequestedTime(text);
  if (time === undefined) throw wrongTime(name, text, shown(text));
  return name === "from" ? timeAt(time, nowMs) : endAt(time, nowMs);
}

function readStepHours(params: Parameters): number | undefined {
  const text = readOne(params, "step", "invalid_step");
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  if (seconds !== undefined && seconds % hourSeconds === 0 && seconds <= usageHours * hourSeconds)
    return seconds / hourSeconds;
  throw invalidField("invalid_step", "step", `step must be whole hours, such as 1h or 1d, at most ${usageHours / 24}d`);
}

function readGroups(params: Parameters): readonly UsageGroup[] {
  const text = readOne(params, "group_by", "invalid_group_by");
  const listed = text === undefined ? [] : text.split(",");
  const wrong = listed.find((name) => !usageGroups.some((group) => group === name));
  if (wrong !== undefined) {
    const detail = `group_by=${shown(wrong)} is not known; use some of ${usageGroups.join(", ")}`;
    throw invalidField("invalid_group_by", "group_by", detail);
  }
  if (new Set(listed).size < listed.length)
    throw invalidField(
      "invalid_group_by",
      "group_by",
      `group_by=${shown(text ?? "")} contains a name twice; remove one`,
    );
  return usageGroups.filter((group) => listed.includes(group));
}
