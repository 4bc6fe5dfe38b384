import type { Flag } from "../../../command-line/flag.ts";
import { UsageError, type Given } from "../../../command-line/given.ts";
import { parseDuration } from "../../metrics/request/duration.ts";
import type { ApiRequest } from "../api/request.ts";

export const sinceFlag: Flag = {
  name: "since",
  value: "TIME",
  help:
    "Begins at this time: a duration before now such as 90s, 15m, 6h or 2d, or a time such as " +
    "2026-01-31T12:00:00Z.",
};
export const untilFlag: Flag = { name: "until", value: "TIME", help: "Ends before this time; as `--since`." };
export const typeFlag: Flag = {
  name: "type",
  value: "TYPE",
  help: "Only events of this type, or of a pattern of them.",
};
export const partnerFlag: Flag = { name: "partner", value: "NAMESPACE/NAME", help: "Only deliveries to this partner." };
export const descFlag: Flag = { name: "desc", help: "The newest first." };
export const limitFlag: Flag = { name: "limit", value: "COUNT", help: "Most items of the list.", standard: "500" };

const limitMax = 1_000_000;

/** @throws UsageError */
export function limitOf(given: Given): number {
  return given.whole("limit", 1, limitMax);
}

/** A time in the form of the API; undefined without the flag. @throws UsageError */
export function timeOf(given: Given, flag: "since" | "until", nowMs: number): string | undefined {
  const text = given.optional(flag);
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  if (seconds !== undefined) return new Date(nowMs - seconds * 1000).toISOString();
  const ms = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/u.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new UsageError(`--${flag} is a duration such as 15m or a time such as 2026-01-31T12:00:00Z, not ${text}.`);
}

/** Parameters that select events by type and partner. */
export function selectionOf(given: Given): NonNullable<ApiRequest["query"]> {
  return { type: given.optional("type"), partner: given.optional("partner") };
}
