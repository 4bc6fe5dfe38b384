import type { Command } from "../command-line/command.ts";
import { plain } from "../command-line/plain.ts";
import { createOutput, type Output } from "../api/output.ts";
import { send } from "../api/request.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import { deliveryColumns, eventPath, type EventHistory } from "./event-forms.ts";

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

/** The event, and its deliveries as a table. */
function eventText({ event, deliveries }: EventHistory, output: Output): string {
  const lines = JSON.stringify(event, undefined, 2).split("\n").map(plain);
  return `${lines.join("\n")}\n\n${deliveriesText(deliveries, output)}`;
}

export function deliveriesText(deliveries: EventHistory["deliveries"], output: Output): string {
  return deliveries.length === 0 ? "No partner gets the event.\n" : output.table(deliveryColumns, deliveries);
}
