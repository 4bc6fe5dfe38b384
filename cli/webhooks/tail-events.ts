import type { Command } from "../command-line/command.ts";
import { createOutput } from "../api/output.ts";
import type { ApiRequest } from "../api/request.ts";
import { say } from "../api/terminal.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import { partnerFlag, selectionOf, sinceFlag, timeOf, typeFlag, requirePartner } from "./event-filter.ts";
import { eventColumns } from "./event-forms.ts";
import { followEvents } from "./follow-events.ts";

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
