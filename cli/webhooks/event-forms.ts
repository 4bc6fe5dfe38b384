// Commands of events, deliveries, dead letters and partners. They ask the API of a server and load no runtime.

import { type DeliveryHistory, type DeliverySummary, type EventSummary, unsentReasons } from "../../api/histories.ts";
import { parseDuration } from "../../runtime/metrics/request/time.ts";
import { HttpError } from "../api/http-error.ts";
import type { ApiConnection } from "../api/connection.ts";
import type { Column } from "../api/output.ts";
import { type ApiRequest, pagesOf, send } from "../api/request.ts";
import { type ApiArguments, apiCommand } from "../api/with-api.ts";
import { type Command, CommandError } from "../command-line/command.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { plain, say, type Tone } from "../command-line/terminal.ts";

const tones: Readonly<Record<string, Tone>> = {
  delivered: "good",
  dead: "bad",
  rejected: "bad",
  held: "waiting",
  in_delivery: "waiting",
};

export const sinceFlag: Flag = {
  name: "since",
  value: "TIME",
  help: "Start: a duration before now such as 90s, 15m, 6h or 2d, or a time such as 2026-01-31T12:00:00Z.",
};
export const untilFlag: Flag = {
  name: "until",
  value: "TIME",
  help: "End (exclusive), in the same format as `--since`.",
};
export const typeFlag: Flag = {
  name: "type",
  value: "TYPE",
  help: "Only events of this type or type pattern.",
};
export const partnerFlag: Flag = { name: "partner", value: "NAMESPACE/NAME", help: "Only deliveries to this partner." };
export const descFlag: Flag = { name: "desc", help: "Newest first." };
const limitFlag: Flag = { name: "limit", value: "COUNT", help: "Maximum number of items to list.", standard: "500" };

const limitMax = 1_000_000;
const notFoundStatus = 404;

/** Colour of a delivery's state. */
export function stateTone(state: string): Tone | undefined {
  return tones[state];
}

/** The path of one event. Full stops are encoded, so that no proxy takes an id for a relative segment. */
export function eventPath(eventId: string): string {
  return `/webhooks/events/${encodeURIComponent(eventId).replaceAll(".", "%2E")}`;
}

export const eventColumns: readonly Column<EventSummary>[] = [
  { title: "EVENT", cell: ({ event_id: id }) => id },
  { title: "TYPE", cell: ({ type }) => type },
  { title: "TENANT", cell: ({ tenant }) => tenant },
  { title: "ACCEPTED", cell: ({ accepted_at: at }) => at },
  {
    title: "DELIVERIES",
    cell: ({ deliveries }) => countsOf(deliveries),
    tone: ({ deliveries }) => worstTone(deliveries),
  },
  {
    title: "PARTNERS",
    cell: ({ deliveries }) => deliveries.map(({ partner, state }) => `${partner}=${state}`).join(","),
    isWide: true,
  },
  { title: "WAITING", cell: ({ deliveries }) => waitsText(deliveries), isWide: true },
];

function sentCount(attempts: DeliveryHistory["attempts"]): number {
  return attempts.filter(({ error }) => error === null || !unsentReasons.has(error.reason)).length;
}

export const deliveryColumns: readonly Column<DeliveryHistory>[] = [
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => stateTone(state) },
  { title: "ATTEMPTS", cell: ({ attempts }) => sentCount(attempts) },
  { title: "STATUS", cell: ({ attempts }) => attempts.at(-1)?.status },
  { title: "REASON", cell: ({ reason }) => reason },
  { title: "WAITING", cell: ({ waiting }) => waitText(waiting) },
  { title: "NEXT", cell: ({ next_attempt_at: at }) => at },
  { title: "CONFIGURATION", cell: ({ routed_by: by }) => by?.configuration, isWide: true },
  { title: "GENERATION", cell: ({ routed_by: by }) => by?.generation, isWide: true },
];

/** `shop/acme=paused (since 2026-01-31T12:00:00Z); shop/zeta=turn`, undefined if none waits */
function waitsText(deliveries: readonly DeliverySummary[]): string | undefined {
  const waits = deliveries.flatMap(({ partner, waiting }) => {
    const wait = waitText(waiting);
    return wait === undefined ? [] : [`${partner}=${wait}`];
  });
  return waits.length === 0 ? undefined : waits.join("; ");
}

/**
 * `held (SecretNotFound: shop/key, since 2026-01-31T12:00:00Z)`
 * @param waiting undefined in responses of earlier versions, as its `until` may be
 */
function waitText(waiting: DeliverySummary["waiting"] | undefined): string | undefined {
  if (waiting === undefined || waiting === null) return undefined;
  const { kind, reason, since, since_at_latest: isAtLatest = false, until } = waiting;
  const facts = [
    ...(reason === null ? [] : [reason]),
    ...(since === null ? [] : [`since ${since}${isAtLatest ? " or earlier" : ""}`]),
    ...(typeof until === "string" ? [`until ${until}`] : []),
  ];
  return facts.length === 0 ? kind : `${kind} (${facts.join(", ")})`;
}

/** `2 delivered, 1 dead` */
function countsOf(deliveries: readonly DeliverySummary[]): string {
  const byState = Map.groupBy(deliveries, ({ state }) => state);
  return byState.size === 0 ? "none" : [...byState].map(([state, { length }]) => `${length} ${state}`).join(", ");
}

function worstTone(deliveries: readonly DeliverySummary[]): Tone | undefined {
  const found = deliveries.map(({ state }) => stateTone(state));
  return (["bad", "waiting", "good"] as const).find((tone) => found.includes(tone));
}

interface ListCommand<Item> extends Pick<Command, "summary" | "flags"> {
  readonly path: string;
  readonly columns: readonly Column<Item>[];
  /** @default no parameters */
  readonly query?: (given: Given) => Query;
  /** What to say about a list without items. */
  readonly none: string;
  /** What to say when the server left items out. @default nothing */
  readonly incomplete?: string;
  /** Checks a request without items. @default no check. @throws CommandError */
  readonly check?: (connection: ApiConnection, query: Query) => Promise<void>;
}

interface ListArguments extends ApiArguments {
  readonly query: Query;
  readonly limit: number;
}

type Query = NonNullable<ApiRequest["query"]>;

/** A command that lists items as their pages arrive, as many as `--limit` allows. */
export function listCommand<Item>({ path, columns, none, ...list }: ListCommand<Item>): Command<ListArguments> {
  const { summary, flags, query: queryOf = () => ({}), incomplete = "", check } = list;
  return apiCommand({
    summary,
    flags: [...flags, limitFlag],
    read: (given) => ({ query: queryOf(given), limit: given.whole("limit", 1, limitMax) }),
    run: async (connection, { query, limit }, output) => {
      const onMore = (): void => say(`There are more than ${limit}; see --limit.`);
      const onIncomplete = (): void => say(incomplete);
      const pages = pagesOf<Item>(connection, { path, query }, { limit, onMore, onIncomplete });
      if ((await output.list(columns, pages)) > 0) return;
      await check?.(connection, query);
      say(none);
    },
  });
}

/** A time in the form of the API; undefined without the flag. @throws UsageError */
export function timeOf(given: Given, flag: "since" | "until", nowMs: number): string | undefined {
  const text = given.optional(flag);
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  if (seconds !== undefined) return new Date(nowMs - seconds * 1000).toISOString();
  const ms = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/u.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new UsageError(
    `--${flag} must be a duration such as 15m, at most 3660d, or a time such as 2026-01-31T12:00:00Z, not ${text}.`,
  );
}

/**
 * Tells a partner without events from one that does not exist.
 * @throws CommandError `refused` if the token sees no partner of that name
 */
export async function requirePartner(connection: ApiConnection, partner: string | undefined): Promise<void> {
  if (partner === undefined) return;
  const path = `/webhooks/partners/${partner.split("/").map(encodeURIComponent).join("/")}`;
  await send(connection, { path }).catch((error: unknown) => {
    if (!(error instanceof HttpError) || error.status !== notFoundStatus) throw error;
    const hint = partner.includes("/") ? "" : "; --partner must be NAMESPACE/NAME, such as default/acme";
    throw new CommandError("refused", `no partner ${plain(partner)} is visible to the token${hint}`, error);
  });
}

/** Parameters that select events by type and partner. */
export function selectionOf(given: Given): Readonly<Record<"type" | "partner", string | undefined>> {
  return { type: given.optional("type"), partner: given.optional("partner") };
}
