import type { Ack, DeadLetter, DeadLetterCount, DeadLetterCounts } from "../../api/replays.ts";
import { type Column, createOutput } from "../api/output.ts";
import { type ApiRequest, pagesOf, send, sendForJson } from "../api/request.ts";
import { apiArguments, type ApiArguments, apiFlags, withApi } from "../api/with-api.ts";
import type { Command } from "../command-line/command.ts";
import type { Flag } from "../command-line/flags.ts";
import { plain, say } from "../command-line/terminal.ts";
import { descFlag, limitFlag, limitOf, partnerFlag, stateTone, typeFlag } from "./event-forms.ts";
import { startArguments, type StartArguments, startFlags, startReplay } from "./replay-job.ts";

interface ListArguments extends ApiArguments {
  readonly query: NonNullable<ApiRequest["query"]>;
  readonly limit: number;
}

const anyPartnerFlag: Flag = { ...partnerFlag, help: "Only dead letters of this partner." };

interface CountArguments extends ApiArguments {
  readonly partner: string | undefined;
}

const reasonFlag: Flag = {
  name: "reason",
  value: "REASON",
  help: "Only dead letters with this reason, for example status_404.",
};

interface RedriveArguments extends StartArguments {
  readonly body: Readonly<Record<string, unknown>>;
  /** Number of named events. @default all */
  readonly named?: number;
}

const deadLetterColumns: readonly Column<DeadLetter>[] = [
  { title: "EVENT", cell: ({ event_id: id }) => id },
  { title: "TYPE", cell: ({ type }) => type },
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "TENANT", cell: ({ tenant }) => tenant },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => stateTone(state) },
  { title: "REASON", cell: ({ reason }) => reason },
  { title: "ATTEMPTS", cell: ({ attempts }) => attempts },
  { title: "ENDED", cell: ({ ended_at: at }) => at },
  { title: "REPLAY", cell: ({ replay_id: id }) => id, isWide: true },
];

interface AckArguments extends ApiArguments {
  readonly body: Readonly<Record<string, string>>;
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

const deadLetterCountColumns: readonly Column<DeadLetterCount>[] = [
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "REASON", cell: ({ reason }) => reason },
  { title: "COUNT", cell: ({ count }) => count },
  { title: "OLDEST", cell: ({ oldest_at: at }) => at },
  { title: "NEWEST", cell: ({ newest_at: at }) => at },
];

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
const ownPartnerFlag: Flag = { ...partnerFlag, help: "Partner of the dead letters.", required: true };

/** `heliograph dlq redrive` */
export const redriveCommand: Command<RedriveArguments> = {
  summary: "Delivers dead letters of a partner again, all or those of some events; it counts them and asks first.",
  operands: [{ name: "EVENT", isOptional: true, isRepeated: true }],
  flags: [ownPartnerFlag, reasonFlag, { ...typeFlag, multiple: true }, ...startFlags, ...apiFlags],
  read: (given, eventIds) => {
    const reason = given.optional("reason");
    const body = {
      partner: given.text("partner"),
      types: given.list("type"),
      ...(reason === undefined ? {} : { reason }),
      ...(eventIds.length === 0 ? {} : { event_ids: eventIds }),
    };
    const named = eventIds.length === 0 ? {} : { named: new Set(eventIds).size };
    return { ...startArguments("dlq redrive", given), body, ...named };
  },
  run: (args, context) => {
    const named = args.named === undefined ? {} : { named: args.named };
    return startReplay({ path: "/webhooks/dead-letters/redrive", body: args.body, ...named }, args, context);
  },
};

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
