import type { Flag } from "../command-line/flag.ts";
import { UsageError, type Given } from "../command-line/given.ts";
import { parseDuration } from "../../runtime/metrics/request/duration.ts";
import { plain } from "../command-line/plain.ts";
import { ApiRefusal } from "../api/api-error.ts";
import type { ApiConnection } from "../api/connection.ts";
import { send, type ApiRequest } from "../api/request.ts";
import { CommandError } from "../command-line/command-error.ts";

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
const notFoundStatus = 404;

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

/**
 * Tells a partner without events from one that does not exist.
 * @throws CommandError `refused` if the token sees no partner of that name
 */
export async function requirePartner(connection: ApiConnection, partner: string | undefined): Promise<void> {
  if (partner === undefined) return;
  const path = `/webhooks/partners/${partner.split("/").map(encodeURIComponent).join("/")}`;
  await send(connection, { path }).catch((error: unknown) => {
    if (!(error instanceof ApiRefusal) || error.status !== notFoundStatus) throw error;
    const hint = partner.includes("/") ? "" : "; --partner is namespace/name, such as default/acme";
    throw new CommandError("refused", `the token sees no partner ${plain(partner)}${hint}`, error);
  });
}

/** Parameters that select events by type and partner. */
export function selectionOf(given: Given): NonNullable<ApiRequest["query"]> {
  return { type: given.optional("type"), partner: given.optional("partner") };
}
