// Parts of the pages of events and of one event. Nothing here reads the address.
import type { DeliveryStates } from "../../api/histories.ts";
import { formatTime, formatWord } from "../components/format.ts";
import { linkTime, readLinkTime } from "../router/link-time.ts";
import { timePresets, timeRangeOf } from "../components/time-range.tsx";
import { changedQuery } from "../router/place.ts";

/** A filter of the list of events; a parameter of the page and of the API. */
export interface EventField {
  readonly name: string;
  readonly label: string;
  /** @default any text, with known values as suggestions */
  readonly options?: readonly string[];
  /** @default "any" */
  readonly placeholder?: string;
}

/** States of a delivery, in the order of filters. */
const deliveryStates: DeliveryStates = ["in_delivery", "held", "delivered", "rejected", "dead", "not_routed"];

/** Filters besides the time range, in their order. */
export const eventFields: readonly EventField[] = [
  { name: "partner", label: "Partner" },
  { name: "state", label: "State", options: ["failed", ...deliveryStates] },
  { name: "type", label: "Type", placeholder: "payout.*" },
  { name: "status", label: "HTTP status" },
  { name: "reason", label: "Reason" },
];

const pageItems = 50;
const pollSeconds = 25;
const dayMs = 86_400_000;

/** The filters that are set, by name. */
export type EventFilters = Readonly<Record<string, string>>;

/**
 * The filters of an address at a time, for the API. The last 24 hours are its default, so they have no `from`.
 */
export function filtersOf(query: URLSearchParams, nowMs: number): EventFilters {
  const set = [
    ["from", linkTime(query.get("from") ?? "", nowMs)] as const,
    ["to", linkTime(query.get("to") ?? "", nowMs, true)] as const,
    ...eventFields.map(({ name }) => [name, query.get(name) ?? ""] as const),
  ];
  const filters = Object.fromEntries(set.filter(([, value]) => value !== ""));
  const { preset, from } = timeRangeOf(query, nowMs);
  return preset === undefined || preset === "24h" ? filters : { from, ...filters };
}

/** The time range of an address in words: `Last 1 h`. */
export function rangeText(query: URLSearchParams, nowMs: number, format: (at: string) => string): string {
  const { preset, from, to } = timeRangeOf(query, nowMs);
  const label = timePresets.find(({ name }) => name === preset)?.label;
  if (label !== undefined) return `Last ${label}`;
  const unread = [query.get("from"), query.get("to")].find(
    (text) => text !== null && readLinkTime(text, nowMs) === undefined,
  );
  if (unread !== undefined && unread !== null) return `Not a time: ${unread}`;
  return query.get("to") === null ? `Since ${format(from)}` : `${format(from)} to ${format(to)}`;
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
  if (state !== undefined) return ["failed", "rejected", "dead"].includes(state);
  return reason !== undefined || (status !== undefined && !status.startsWith("2"));
}

/** True when a window of a replay selects exactly these deliveries; else the ids of the events have to be named. */
export function isWindowEnough({ state, status, reason }: EventFilters): boolean {
  return (state === undefined || state === "failed") && status === undefined && reason === undefined;
}

/** What the filters select, in words. */
export function filterWords(filters: EventFilters, nowMs: number): readonly string[] {
  const { from, to } = windowOf(filters, nowMs);
  const words: Readonly<Record<string, (value: string) => string>> = {
    type: (value) => `of type ${value}`,
    partner: (value) => `to ${value}`,
    state: (value) => `in state ${formatWord(value)}`,
    status: (value) => (value === "none" ? "without a response" : `with HTTP status ${value}`),
    reason: (value) => `with reason ${value}`,
  };
  const shown = Object.entries(words).flatMap(([name, say]) => {
    const value = filters[name];
    return value === undefined ? [] : [say(value)];
  });
  return [`accepted from ${formatTime(from)} to ${formatTime(to)}`, ...shown];
}
