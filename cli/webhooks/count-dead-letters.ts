import type { Command } from "../command-line/command.ts";
import { createOutput } from "../api/output.ts";
import { sendForJson } from "../api/request.ts";
import { say } from "../api/terminal.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import { anyPartnerFlag, deadLetterCountColumns, type DeadLetterCount } from "./dead-letter-form.ts";

interface CountArguments extends ApiArguments {
  readonly partner: string | undefined;
}

/** The response to `GET /webhooks/dead-letters/counts`. */
interface DeadLetterCounts {
  readonly data: readonly DeadLetterCount[];
  readonly meta: { readonly complete: boolean };
}

/** `heliograph dlq counts` */
export const countDeadLettersCommand: Command<CountArguments> = {
  summary: "Counts dead letters by partner and reason, the largest count first.",
  flags: [anyPartnerFlag, ...apiFlags],
  read: (given) => ({ ...apiArguments(given), partner: given.optional("partner") }),
  run: ({ connect, format, partner }, { environment }) =>
    withApi(connect, async (connection) => {
      const asked = { path: "/webhooks/dead-letters/counts", query: { partner } };
      const { data, meta } = await sendForJson<DeadLetterCounts>(connection, asked);
      const pages = async function* () {
        yield data;
      };
      await createOutput(format, environment).list(deadLetterCountColumns, pages());
      if (!meta.complete) say("There are more dead letters than the server counted.");
      else if (data.length === 0) say("No dead letter was found.");
      return "done";
    }),
};
