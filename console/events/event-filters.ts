// Parts of the pages of events and of one event. Nothing here reads the address.
import type { FilterField } from "../components/filter-form.tsx";
import { formatTime, formatWord } from "../components/format.ts";
import { changedQuery } from "../router/place.ts";
import { deliveryStates } from "../webhooks/delivery-states.ts";

/** Filters of the list of events; each is a parameter of the page and of the API. */
export const eventFields: readonly FilterField[] = [
  { name: "from", label: "From (UTC)", kind: "time" },
  { name: "to", label: "To (UTC)", kind: "time" },
  { name: "type", label: "Type", placeholder: "payout.*" },
  { name: "partner", label: "Partner", placeholder: "namespace/name" },
  { name: "state", label: "State", kind: "select", options: deliveryStates },
  { name: "status", label: "HTTP status", placeholder: "503, 5xx or none" },
  { name: "reason", label: "Reason", placeholder: "status_503" },
];

const pageItems = 50;
const pollSeconds = 25;
const dayMs = 86_400_000;

/** The filters that are set, by name. */
export type EventFilters = Readonly<Record<string, string>>;

/** The filters of an address. */
export function filtersOf(query: URLSearchParams): EventFilters {
  const set = eventFields.map(({ name }) => [name, query.get(name) ?? ""] as const);
  return Object.fromEntries(set.filter(([, value]) => value !== ""));
}

/** The path of a page of the list, newest first. */
export function eventsPath(filters: EventFilters, cursor: string): string {
  const query = new URLSearchParams({ order: "desc", limit: String(pageItems) });
  return `/webhooks/events${changedQuery(query, { ...filters, cursor })}`;
}

/** The path of a long poll for events after a cursor. An end of the window ends following, so it is left out. */
export function followPath({ to: _to, ...filters }: EventFilters, cursor: string): string {
  const query = new URLSearchParams({ order: "asc", wait: String(pollSeconds) });
  return `/webhooks/events${changedQuery(query, { ...filters, cursor })}`;
}

/** The window of a list at a moment: without an end now, without a start a day, as the API has it. */
export function windowOf({ from, to }: EventFilters, nowMs: number): { readonly from: string; readonly to: string } {
  const endMs = Math.min(to === undefined ? nowMs : Date.parse(to), nowMs);
  const end = Number.isNaN(endMs) ? nowMs : endMs;
  return { from: from ?? new Date(end - dayMs).toISOString(), to: new Date(end).toISOString() };
}

/** True when only deliveries that ended without success can match. */
export function meansFailed({ state, status, reason }: EventFilters): boolean {
  if (state !== undefined) return state === "rejected" || state === "dead";
  return reason !== undefined || (status !== undefined && !status.startsWith("2"));
}

/** True when a window of a replay selects exactly these events; else their ids have to be named. */
export function isWindowEnough({ state, status, reason }: EventFilters): boolean {
  return state === undefined && status === undefined && reason === undefined;
}

/** What the filters select, in words. */
export function filterWords(filters: EventFilters, nowMs: number): readonly string[] {
  const { from, to } = windowOf(filters, nowMs);
  const words: Readonly<Record<string, (value: string) => string>> = {
    type: (value) => `of type ${value}`,
    partner: (value) => `to ${value}`,
    state: (value) => `in state ${formatWord(value)}`,
    status: (value) => (value === "none" ? "without an answer" : `with HTTP status ${value}`),
    reason: (value) => `with reason ${value}`,
  };
  const shown = Object.entries(words).flatMap(([name, say]) => {
    const value = filters[name];
    return value === undefined ? [] : [say(value)];
  });
  return [`accepted from ${formatTime(from)} to ${formatTime(to)}`, ...shown];
}
