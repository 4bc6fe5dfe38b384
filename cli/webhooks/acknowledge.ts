import { plain } from "../command-line/plain.ts";
import type { Command } from "../command-line/command.ts";
import { createOutput } from "../api/output.ts";
import { send } from "../api/request.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import { ownPartnerFlag } from "./dead-letter-form.ts";

interface AckArguments extends ApiArguments {
  readonly body: Readonly<Record<string, string>>;
}

interface Ack {
  readonly event_id: string;
  readonly partner: string;
  readonly recipient: { readonly status: number | null; readonly error: string | null } | null;
}

/** `heliograph dlq ack` */
export const acknowledgeCommand: Command<AckArguments> = {
  summary: "Closes the dead letter of an event that was handled by hand.",
  operands: [{ name: "EVENT" }],
  flags: [
    ownPartnerFlag,
    { name: "note", value: "TEXT", help: "What was done, for the history." },
    { name: "tenant", value: "TENANT", help: "Tenant of the event, when several have its id." },
    ...apiFlags,
  ],
  read: (given, [eventId = ""]) => {
    const [note, tenant] = [given.optional("note"), given.optional("tenant")];
    const body = {
      event_id: eventId,
      partner: given.text("partner"),
      ...(note === undefined ? {} : { note }),
      ...(tenant === undefined ? {} : { tenant }),
    };
    return { ...apiArguments(given), body };
  },
  run: ({ connect, format, body }, { environment }) =>
    withApi(connect, async (connection) => {
      const answer = await send(connection, { method: "POST", path: "/webhooks/ack", body });
      await createOutput(format, environment).one(answer.body, () =>
        ackText(JSON.parse(answer.body.toString()) as Ack),
      );
      return "done";
    }),
};

function ackText({ event_id: id, partner, recipient }: Ack): string {
  const told = recipient === null ? "" : `; the partner answered ${recipient.status ?? recipient.error ?? "nothing"}`;
  return plain(`${id} is handled for ${partner}${told}`);
}
