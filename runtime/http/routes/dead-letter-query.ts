import { orders } from "../../../api/events.ts";
import { deadLetterGroups } from "../../../api/replays.ts";
import { invalidField } from "../../errors/api-error.ts";
import { type Parameters, readOne, readWord, rejectUnknown } from "../../metrics/request/parameters.ts";
import type { DeadLetterFilter, DeadLetterQuery } from "../../webhooks/replay/dead-letters-api.ts";
import { placeOf, readReason, readTime } from "./event-query.ts";

const filterNames: readonly string[] = ["partner", "reason", "type", "tenant", "from", "to"];
const listNames: readonly string[] = [...filterNames, "order", "cursor", "limit"];
const countNames: readonly string[] = [...filterNames, "group_by"];

/** Reads the parameters of `GET /webhooks/dead-letters`. @throws ApiError 400 that names the parameter at fault */
export function readDeadLetterQuery(query: Parameters): DeadLetterQuery {
  rejectUnknown(query, (name) => listNames.includes(name));
  return { isNewestFirst: readWord(query, "order", orders) === "desc", ...placeOf(query), ...readFilter(query) };
}

/** Reads the parameters of `GET /webhooks/dead-letters/counts`. @throws ApiError 400 that names the parameter */
export function readCountsQuery(query: Parameters): {
  readonly filter: DeadLetterFilter;
  readonly groupBy: (typeof deadLetterGroups)[number] | undefined;
} {
  rejectUnknown(query, (name) => countNames.includes(name));
  return { filter: readFilter(query), groupBy: readWord(query, "group_by", deadLetterGroups) };
}

function readFilter(query: Parameters): DeadLetterFilter {
  const [fromMs, toMs] = [readTime(query, "from"), readTime(query, "to")];
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs)
    throw invalidField("invalid_window", "from", "from must be before to; use an earlier from");
  const members = {
    partner: readOne(query, "partner"),
    reason: readReason(query),
    type: readOne(query, "type"),
    tenant: readOne(query, "tenant"),
    fromMs,
    toMs,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
