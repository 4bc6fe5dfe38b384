import type { EventPage } from "../../api/histories.ts";
import type { ApiClient } from "../api/client.ts";
import { formatNumber } from "../components/format.ts";
import { changedQuery } from "../router/place.ts";
import type { ReplayBody } from "../webhooks/start-replay.tsx";
import { isWindowEnough, meansFailed, windowOf, type EventFilters } from "./event-filters.ts";

/** Ids that one replay takes at most. Source: docs/reference/api.md, ReplayRequest. */
const idsMax = 1_000;
const pageItems = 200;
/** Pages may be short, since a server ends one after some reading. */
const pagesMax = 50;

/**
 * The replay of everything that filters select at a moment. States, statuses and reasons are no part of a replay, so
 * the ids of such events are read first.
 *
 * @throws Error when more events match than one replay takes; ProblemError
 */
export async function replayBody(
  api: Pick<ApiClient, "read">,
  filters: EventFilters,
  nowMs: number,
  signal: AbortSignal,
): Promise<ReplayBody> {
  const { type, partner } = filters;
  const window = windowOf(filters, nowMs);
  const selected = {
    ...(partner === undefined ? {} : { partners: [partner] }),
    ...(meansFailed(filters) ? { only_failed: true } : {}),
  };
  if (isWindowEnough(filters)) return { ...window, ...selected, ...(type === undefined ? {} : { types: [type] }) };
  const ids = await readIds(api, { ...filters, ...window }, signal);
  if (ids.length === 0) throw new Error("No event matches these filters now. Change them.");
  return { event_ids: ids, ...selected };
}

async function readIds(
  api: Pick<ApiClient, "read">,
  filters: EventFilters,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const ids = new Set<string>();
  const query = new URLSearchParams({ order: "desc", limit: String(pageItems) });
  let cursor = "";
  for (let page = 0; page < pagesMax; page += 1) {
    const path = `/webhooks/events${changedQuery(query, { ...filters, cursor })}`;
    const { body } = await api.read<EventPage>(path, signal);
    for (const { event_id: id } of body.data) ids.add(id);
    if (ids.size > idsMax || (ids.size === idsMax && body.meta.cursor !== null)) break;
    if (body.meta.cursor === null) return [...ids];
    cursor = body.meta.cursor;
  }
  throw new Error(
    `More than ${formatNumber(idsMax)} events match, or they lie too far apart. One replay by state, status or ` +
      "reason takes no more: choose a shorter time, or remove these three filters.",
  );
}
