import type { Command } from "../command-line/command.ts";
import { createOutput, type Column } from "../api/output.ts";
import { sendForJson } from "../api/request.ts";
import { say } from "../api/terminal.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import { partnerFlag, requirePartner } from "./event-filter.ts";
import { eventPath, type Attempt, type EventHistory } from "./event-forms.ts";

interface AttemptsArguments extends ApiArguments {
  readonly eventId: string;
  readonly partner?: string;
}

interface PartnerAttempt extends Attempt {
  readonly partner: string;
}

const isSuccess = ({ status }: Attempt): boolean => status !== null && status >= 200 && status < 300;

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

async function* onePage<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows;
}
