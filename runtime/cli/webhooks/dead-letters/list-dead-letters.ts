import type { Command } from "../../command.ts";
import { createOutput } from "../../api/output.ts";
import { pagesOf } from "../../api/pages.ts";
import { say } from "../../api/terminal.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../../api/with-api.ts";
import { deadLetterColumns, ownPartnerFlag, reasonFlag, type DeadLetter } from "./dead-letter-form.ts";
import { limitFlag, limitOf } from "../event-filter.ts";

interface ListArguments extends ApiArguments {
  readonly partner: string;
  readonly reason: string | undefined;
  readonly limit: number;
}

/** `heliograph dlq list` */
export const listDeadLettersCommand: Command<ListArguments> = {
  summary: "Lists the deliveries to a partner that ended without success, oldest first.",
  flags: [ownPartnerFlag, reasonFlag, limitFlag, ...apiFlags],
  read: (given) => ({
    ...apiArguments(given),
    partner: given.text("partner"),
    reason: given.optional("reason"),
    limit: limitOf(given),
  }),
  run: ({ connect, format, partner, reason, limit }, { environment }) =>
    withApi(connect, async (connection) => {
      const onMore = (): void => say(`There are more than ${limit}; see --limit.`);
      const asked = { path: "/webhooks/dead-letters", query: { partner, reason } };
      const pages = pagesOf<DeadLetter>(connection, asked, { limit, onMore });
      const count = await createOutput(format, environment).list(deadLetterColumns, pages);
      if (count === 0) say("No dead letter was found.");
      return "done";
    }),
};
