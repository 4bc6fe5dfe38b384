import { eventTypeStates, orders, pageItemsDefault, pageItemsMax, waitSecondsMax } from "../../../api/events.ts";
import { listedStates } from "../../../api/histories.ts";
import { invalidField } from "../../errors/api-error.ts";
import type { Caller } from "../../metrics/authorization/access.ts";
import { shown } from "../../metrics/request/known-names.ts";
import { type Parameters, readOne, readWord, rejectUnknown } from "../../metrics/request/parameters.ts";
import { readCount } from "../../metrics/request/read-query.ts";
import { parseTime } from "../../metrics/request/time.ts";
import type { TypeQuery } from "../../webhooks/history/event-types.ts";
import type { EventQuery, StatusRange } from "../../webhooks/history/event-list.ts";
import type { ExplainQuery } from "../../webhooks/history/explain-event.ts";
import { partnersOf } from "../../webhooks/history/history-view.ts";
import type { ReplayPlace, ReplayQuery } from "../../webhooks/replay/list-replays.ts";

const dayMs = 86_400_000;
const secondMs = 1_000;
const statusForm = /^(?:(?<status>[1-5]\d\d)|(?<hundreds>[1-5])xx|none)$/u;
const reasonForm = /^[a-z0-9_]{1,64}$/u;
const cursorForm = /^\d{1,16}$/u;
const labelForm = /^[a-z0-9.-]{1,253}\/[a-z0-9.-]{1,253}$/u;
const pageNames: readonly string[] = ["cursor", "limit"];
const explainedNames: readonly string[] = ["partner", ...pageNames];
const explainNames: readonly string[] = ["explain", ...explainedNames];
const dryRunNames: readonly string[] = ["dry_run", ...explainedNames];
const partnerNames: readonly string[] = ["search", ...pageNames];
const typeNames: readonly string[] = ["prefix", "state", ...partnerNames];
const eventNames: readonly string[] =
  "from to after_id before_id type partner state status reason order wait cursor limit".split(" ");

/** Reads the parameters of `GET /webhooks/events`. @throws ApiError 400 that names the parameter at fault */
export function readEventQuery(
  query: Parameters,
  caller: Pick<Caller, "tenants" | "partners">,
  nowMs: number,
): EventQuery {
  rejectUnknown(query, (name) => eventNames.includes(name));
  const texts = {
    afterId: readOne(query, "after_id"),
    beforeId: readOne(query, "before_id"),
    type: readOne(query, "type"),
    partner: readOne(query, "partner"),
    state: readWord(query, "state", listedStates),
    status: readStatus(query),
    reason: readReason(query),
  };
  const given = Object.fromEntries(
    Object.entries(texts).filter(([, value]) => value !== undefined),
  ) as Partial<EventQuery>;
  const { from, to, endMs } = readWindow(query, nowMs);
  // With an id to begin after, no time bounds the list.
  const fromMs = from ?? (given.afterId === undefined ? endMs - dayMs : 0);
  const toMs = to ?? Number.POSITIVE_INFINITY;
  const { afterSeq, limit } = placeOf(query);
  const place = { tenants: caller.tenants, ...partnersOf(caller), fromMs, toMs, limit, ...given };
  if (readWord(query, "order", orders) !== "desc") return { ...place, afterSeq };
  return { ...place, order: "desc", ...(afterSeq === 0 ? {} : { beforeSeq: afterSeq }) };
}

/** Reads what `GET /webhooks/events/:id` explains; undefined: nothing. @throws ApiError 400 that names the parameter */
export function readExplainQuery(query: Parameters): ExplainQuery | undefined {
  rejectUnknown(query, (name) => explainNames.includes(name));
  const isExplained = readWord(query, "explain", ["true", "false"]) === "true";
  const explain = readExplainPage(query);
  return isExplained ? explain : undefined;
}

/** Reads what a dry run of `POST /events` explains; undefined: no dry run. @throws ApiError 400 with the parameter */
export function readDryRunQuery(query: Parameters): ExplainQuery | undefined {
  // Another spelling of dry_run must not store the event.
  rejectUnknown(query, (name) => dryRunNames.includes(name), dryRunNames);
  const explain = readExplainPage(query);
  if (readWord(query, "dry_run", ["true", "false"]) === "true") return explain;
  const extra = explainedNames.find((name) => readOne(query, name) !== undefined);
  // The event would be stored and sent to all partners.
  if (extra !== undefined)
    throw invalidField("invalid_request", extra, `${extra} is for a dry run only; add dry_run=true or remove it`);
  return undefined;
}

function readExplainPage(query: Parameters): ExplainQuery {
  const [partner, after] = [readOne(query, "partner"), readOne(query, "cursor")];
  if (after !== undefined && !labelForm.test(after))
    throw invalidField("invalid_request", "cursor", "cursor must be explanation.cursor of an earlier page");
  const place = after === undefined ? {} : { after };
  return { ...place, ...(partner === undefined ? {} : { partner }), limit: readPageLimit(query) };
}

/** @throws ApiError `invalid_time`, `invalid_window` */
function readWindow(
  query: Parameters,
  nowMs: number,
): { readonly from: number | undefined; readonly to: number | undefined; readonly endMs: number } {
  const { from, to } = { from: readTime(query, "from"), to: readTime(query, "to") };
  const endMs = Math.min(to ?? nowMs, nowMs);
  if (from !== undefined && from >= endMs) {
    throw invalidField(
      "invalid_window",
      "from",
      from >= (to ?? from + 1)
        ? "from must be before to; use an earlier from"
        : "from is in the future; use an earlier time",
    );
  }
  return { from, to, endMs };
}

/**
 * The time that a list of events may wait for the first, in milliseconds; 0: not at all.
 *
 * @throws ApiError 400 that names the parameter
 */
export function readWait(query: Parameters): number {
  const text = readOne(query, "wait");
  if (text === undefined) return 0;
  const seconds = /^\d{1,2}$/u.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= waitSecondsMax)) {
    throw invalidField(
      "invalid_request",
      "wait",
      `wait must be an integer number of seconds from 0 to ${waitSecondsMax}`,
    );
  }
  if (seconds > 0 && (readOne(query, "order") === "desc" || readOne(query, "cursor") === undefined)) {
    const detail = "wait requires a cursor and order=asc; use meta.newest of a list with order=desc, or meta.cursor";
    throw invalidField("invalid_request", "wait", detail);
  }
  return seconds * secondMs;
}

function readStatus(query: Parameters): StatusRange | undefined {
  const text = readOne(query, "status");
  if (text === undefined) return undefined;
  const found = statusForm.exec(text)?.groups;
  if (found === undefined) {
    throw invalidField(
      "invalid_request",
      "status",
      "status must be an HTTP status such as 503, a class such as 5xx, or none",
    );
  }
  const { status, hundreds } = found;
  if (hundreds !== undefined) return { min: Number(hundreds) * 100, max: Number(hundreds) * 100 + 99 };
  return { min: Number(status ?? 0), max: Number(status ?? 0) };
}

/** Reads a reason. It goes into a subject filter. @throws ApiError 400 that names the parameter */
export function readReason(query: Parameters): string | undefined {
  const reason = readOne(query, "reason");
  if (reason === undefined || reasonForm.test(reason)) return reason;
  throw invalidField("invalid_request", "reason", "reason must be 1 to 64 of a-z, 0-9 and _, such as status_404");
}

/** Reads the parameters of `GET /webhooks/partners`. @throws ApiError 400 that names the parameter at fault */
export function readPartnerQuery(query: Parameters): {
  readonly search: readonly string[];
  readonly skipped: number;
  readonly limit: number;
} {
  rejectUnknown(query, (name) => partnerNames.includes(name));
  return searchedPage(query);
}

/** Reads the parameters of `GET /webhooks/types`. @throws ApiError 400 that names the parameter at fault */
export function readTypeQuery(query: Parameters): Omit<TypeQuery, "tenants" | "partners"> {
  rejectUnknown(query, (name) => typeNames.includes(name));
  const { prefix, state } = { prefix: readOne(query, "prefix"), state: readWord(query, "state", eventTypeStates) };
  return {
    ...searchedPage(query),
    ...(prefix === undefined ? {} : { prefix }),
    ...(state === undefined ? {} : { state }),
  };
}

function searchedPage(
  query: Parameters,
): Pick<TypeQuery, "skipped" | "limit"> & { readonly search: readonly string[] } {
  const text = readOne(query, "search") ?? "";
  const { afterSeq, limit } = placeOf(query);
  return { search: text.toLowerCase().split(/\s+/u).filter(Boolean), skipped: afterSeq, limit };
}

/** Reads the place and the size of a page. @throws ApiError 400 that names the parameter at fault */
export function placeOf(query: Parameters): { readonly afterSeq: number; readonly limit: number } {
  const cursor = readOne(query, "cursor") ?? "0";
  if (!cursorForm.test(cursor))
    throw invalidField("invalid_request", "cursor", "cursor must be meta.cursor of an earlier page");
  return { afterSeq: Number(cursor), limit: readPageLimit(query) };
}

/** Reads the number of items of a page. @throws ApiError 400 `invalid_limit` */
export function readPageLimit(query: Parameters): number {
  return readCount(query, "limit", pageItemsMax) ?? pageItemsDefault;
}

/** Parses an absolute time in UTC into Unix milliseconds; undefined without one. @throws ApiError `invalid_time` */
export function readTime(params: Parameters, name: string): number | undefined {
  const text = readOne(params, name, "invalid_time");
  if (text === undefined) return undefined;
  const ms = parseTime(text);
  if (ms !== undefined) return ms;
  throw invalidField(
    "invalid_time",
    name,
    `${name}=${shown(text)} is not a time; use ISO 8601 UTC such as 2026-01-01T00:00:00Z`,
  );
}

const replayCursorForm = /^(?<createdAtMs>\d{1,15})-(?<id>[\w-]{1,64})$/u;

/** Reads the parameters of `GET /webhooks/replay`. @throws ApiError 400 that names the parameter at fault */
export function readReplayQuery(query: Parameters): ReplayQuery {
  rejectUnknown(query, (name) => name === "partner" || pageNames.includes(name));
  const partner = readOne(query, "partner");
  const requested = { limit: readPageLimit(query), ...(partner === undefined ? {} : { partner }) };
  const cursor = readOne(query, "cursor");
  if (cursor === undefined) return requested;
  const { createdAtMs, id } = replayCursorForm.exec(cursor)?.groups ?? {};
  if (createdAtMs === undefined || id === undefined)
    throw invalidField("invalid_request", "cursor", "cursor must be meta.cursor of an earlier page");
  return { ...requested, after: { createdAtMs: Number(createdAtMs), id } };
}

/** Writes the cursor that {@link readReplayQuery} reads. */
export function replayCursor({ createdAtMs, id }: ReplayPlace): string {
  return `${createdAtMs}-${id}`;
}
