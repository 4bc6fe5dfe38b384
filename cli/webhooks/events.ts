import type { AttemptHistory, EventHistory, EventSummary } from "../../api/histories.ts";
import { type Column, createOutput, type Output } from "../api/output.ts";
import { type ApiRequest, pagesOf, send, sendForJson } from "../api/request.ts";
import { apiArguments, type ApiArguments, apiFlags, withApi } from "../api/with-api.ts";
import type { Command } from "../command-line/command.ts";
import { plain, say } from "../command-line/terminal.ts";
import {
  deliveryColumns,
  descFlag,
  eventColumns,
  eventPath,
  limitFlag,
  limitOf,
  partnerFlag,
  requirePartner,
  selectionOf,
  sinceFlag,
  timeOf,
  typeFlag,
  untilFlag,
} from "./event-forms.ts";
import { followEvents } from "./follow-events.ts";

interface ListArguments extends ApiArguments {
  readonly query: NonNullable<ApiRequest["query"]>;
  readonly limit: number;
  /** `namespace/name`; undefined: any. */
  readonly partner: string | undefined;
}

/** `heliograph events list` */
export const listEventsCommand: Command<ListArguments> = {
  summary: "Lists events with the states of their deliveries, oldest first; without `--since` those of a day.",
  flags: [
    sinceFlag,
    untilFlag,
    typeFlag,
    partnerFlag,
    { name: "state", value: "STATE", help: "Only events with a delivery in this state, for example dead." },
    { name: "status", value: "STATUS", help: "Only events whose last response has this status: 503, 5xx, or none." },
    { name: "reason", value: "REASON", help: "Only events with a delivery of this reason, for example status_503." },
    descFlag,
    limitFlag,
    ...apiFlags,
  ],
  read: (given) => ({
    ...apiArguments(given),
    query: {
      from: timeOf(given, "since", Date.now()),
      to: timeOf(given, "until", Date.now()),
      ...selectionOf(given),
      state: given.optional("state"),
      status: given.optional("status"),
      reason: given.optional("reason"),
      order: given.isSet("desc") ? "desc" : undefined,
    },
    limit: limitOf(given),
    partner: given.optional("partner"),
  }),
  run: ({ connect, format, query, limit, partner }, { environment }) =>
    withApi(connect, async (connection) => {
      const onMore = (): void => say(`There are more than ${limit}; see --limit.`);
      const pages = pagesOf<EventSummary>(connection, { path: "/webhooks/events", query }, { limit, onMore });
      const count = await createOutput(format, environment).list(eventColumns, pages);
      if (count === 0) {
        await requirePartner(connection, partner);
        say("No event was found.");
      }
      return "done";
    }),
};

/** `heliograph events get` */
export const getEventCommand: Command<ApiArguments & { readonly eventId: string }> = {
  summary: "Prints an event as it was accepted, and the state of each of its deliveries.",
  operands: [{ name: "EVENT" }],
  flags: apiFlags,
  read: (given, [eventId = ""]) => ({ ...apiArguments(given), eventId }),
  run: ({ connect, format, eventId }, { environment }) =>
    withApi(connect, async (connection) => {
      const { body } = await send(connection, { path: eventPath(eventId) });
      const output = createOutput(format, environment);
      await output.one(body, () => eventText(JSON.parse(body.toString()) as EventHistory, output));
      return "done";
    }),
};

interface TailArguments extends ApiArguments {
  readonly query: NonNullable<ApiRequest["query"]>;
  readonly from: string;
  /** `namespace/name`; undefined: any. */
  readonly partner: string | undefined;
}

/** `heliograph events tail` */
export const tailEventsCommand: Command<TailArguments> = {
  summary: "Prints events as they are accepted, until it is interrupted; a lost connection is resumed.",
  flags: [{ ...sinceFlag, standard: "10s" }, typeFlag, partnerFlag, ...apiFlags],
  read: (given) => ({
    ...apiArguments(given),
    query: selectionOf(given),
    partner: given.optional("partner"),
    from: timeOf(given, "since", Date.now()) ?? "",
  }),
  run: ({ connect, format, query, from, partner }, { environment }) =>
    withApi(connect, async (connection) => {
      await requirePartner(connection, partner);
      // Only the end of the program ends it.
      const { signal } = new AbortController();
      const pages = followEvents(connection, { query, start: { from }, signal, onNote: say });
      await createOutput(format, environment).list(eventColumns, pages);
      return "done";
    }),
};

interface AttemptsArguments extends ApiArguments {
  readonly eventId: string;
  readonly partner?: string;
}

interface PartnerAttempt extends AttemptHistory {
  readonly partner: string;
}

const isSuccess = ({ status }: AttemptHistory): boolean => status !== null && status >= 200 && status < 300;

const columns: readonly Column<PartnerAttempt>[] = [
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "ATTEMPT", cell: ({ attempt }) => attempt },
  { title: "AT", cell: ({ at }) => at },
  { title: "STATUS", cell: ({ status }) => status, tone: (attempt) => (isSuccess(attempt) ? "good" : "bad") },
  { title: "MS", cell: ({ duration_ms: ms }) => Math.round(ms) },
  { title: "REPLAY", cell: ({ replay_id: id }) => id, isWide: true },
  { title: "POD", cell: ({ pod }) => pod, isWide: true },
  { title: "WARNINGS", cell: ({ warnings }) => warnings?.join("; "), isWide: true },
  { title: "ERROR", cell: ({ error }) => (error === null ? null : `${error.reason}: ${error.detail}`) },
];

/** `heliograph attempts` */
export const attemptsCommand: Command<AttemptsArguments> = {
  summary: "Lists every attempt to deliver an event, by partner.",
  operands: [{ name: "EVENT" }],
  flags: [partnerFlag, ...apiFlags],
  read: (given, [eventId = ""]) => {
    const partner = given.optional("partner");
    return { ...apiArguments(given), eventId, ...(partner === undefined ? {} : { partner }) };
  },
  run: ({ connect, format, eventId, partner }, { environment }) =>
    withApi(connect, async (connection) => {
      const { deliveries } = await sendForJson<EventHistory>(connection, { path: eventPath(eventId) });
      const asked = deliveries.filter((delivery) => (partner ?? delivery.partner) === delivery.partner);
      const rows = asked.flatMap((one) => one.attempts.map((attempt) => ({ partner: one.partner, ...attempt })));
      await createOutput(format, environment).list(columns, onePage(rows));
      if (asked.length === 0) await requirePartner(connection, partner);
      if (rows.length === 0) say("No attempt was made yet.");
      return "done";
    }),
};

/** The event, and its deliveries as a table. */
function eventText({ event, deliveries }: EventHistory, output: Output): string {
  const lines = JSON.stringify(event, undefined, 2).split("\n").map(plain);
  return `${lines.join("\n")}\n\n${deliveriesText(deliveries, output)}`;
}

export function deliveriesText(deliveries: EventHistory["deliveries"], output: Output): string {
  return deliveries.length === 0 ? "No partner gets the event.\n" : output.table(deliveryColumns, deliveries);
}

async function* onePage<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows;
}
