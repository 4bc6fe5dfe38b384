import type { Command } from "../command-line/command.ts";
import { createOutput } from "../api/output.ts";
import { pagesOf } from "../api/pages.ts";
import type { ApiRequest } from "../api/request.ts";
import { say } from "../api/terminal.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import {
  descFlag,
  limitFlag,
  limitOf,
  partnerFlag,
  requirePartner,
  selectionOf,
  sinceFlag,
  timeOf,
  typeFlag,
  untilFlag,
} from "./event-filter.ts";
import { eventColumns, type EventSummary } from "./event-forms.ts";

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
    { name: "status", value: "STATUS", help: "Only events with such a last answer: 503, 5xx, or none." },
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
