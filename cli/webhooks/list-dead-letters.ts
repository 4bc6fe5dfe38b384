import type { Command } from "../command-line/command.ts";
import { createOutput } from "../api/output.ts";
import { pagesOf } from "../api/pages.ts";
import type { ApiRequest } from "../api/request.ts";
import { say } from "../api/terminal.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import { anyPartnerFlag, deadLetterColumns, reasonFlag, type DeadLetter } from "./dead-letter-form.ts";
import { descFlag, limitFlag, limitOf } from "./event-filter.ts";

interface ListArguments extends ApiArguments {
  readonly query: NonNullable<ApiRequest["query"]>;
  readonly limit: number;
}

/** `heliograph dlq list` */
export const listDeadLettersCommand: Command<ListArguments> = {
  summary:
    "Lists the deliveries that ended without success, oldest first, of one partner or of all that the token sees.",
  flags: [anyPartnerFlag, reasonFlag, descFlag, limitFlag, ...apiFlags],
  read: (given) => ({
    ...apiArguments(given),
    query: {
      partner: given.optional("partner"),
      reason: given.optional("reason"),
      order: given.isSet("desc") ? "desc" : undefined,
    },
    limit: limitOf(given),
  }),
  run: ({ connect, format, query, limit }, { environment }) =>
    withApi(connect, async (connection) => {
      const onMore = (): void => say(`There are more than ${limit}; see --limit.`);
      const onIncomplete = (): void => say("Older ones are left out; --partner without --desc lists them.");
      const asked = { path: "/webhooks/dead-letters", query };
      const pages = pagesOf<DeadLetter>(connection, asked, { limit, onMore, onIncomplete });
      const count = await createOutput(format, environment).list(deadLetterColumns, pages);
      if (count === 0) say("No dead letter was found.");
      return "done";
    }),
};
