import type { Ack, DeadLetter, DeadLetterCount, DeadLetterCounts } from "../../api/replays.ts";
import type { Column } from "../api/output.ts";
import { send, sendForJson } from "../api/request.ts";
import { apiCommand, apiFlags } from "../api/with-api.ts";
import type { Command } from "../command-line/command.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { plain, say } from "../command-line/terminal.ts";
import {
  descFlag,
  listCommand,
  partnerFlag,
  sinceFlag,
  stateTone,
  timeOf,
  typeFlag,
  untilFlag,
} from "./event-forms.ts";
import { startArguments, type StartArguments, startFlags, startReplay } from "./start-replay.ts";

const anyPartnerFlag: Flag = { ...partnerFlag, help: "Only dead letters of this partner." };

const reasonFlag: Flag = {
  name: "reason",
  value: "REASON",
  help: "Only dead letters with this reason, for example status_404.",
};

const tenantFlag: Flag = { name: "tenant", value: "TENANT", help: "Only dead letters of events of this tenant." };
const groupFlag: Flag = {
  name: "group-by",
  value: "MEMBER",
  help: "Groups by reason, type, partner or tenant instead of partner and reason.",
};
const filterFlags: readonly Flag[] = [anyPartnerFlag, reasonFlag, tenantFlag, sinceFlag, untilFlag];

/** The filters of a list or of counts. */
function filtersOf(given: Given): Readonly<Record<string, string | undefined>> {
  const nowMs = Date.now();
  return {
    partner: given.optional("partner"),
    reason: given.optional("reason"),
    tenant: given.optional("tenant"),
    from: timeOf(given, "since", nowMs),
    to: timeOf(given, "until", nowMs),
  };
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

/** `heliograph dlq list` */
export const listDeadLettersCommand = listCommand<DeadLetter>({
  summary: "Lists failed deliveries, oldest first, of one partner or of all partners visible to the token.",
  flags: [...filterFlags, typeFlag, descFlag],
  path: "/webhooks/dead-letters",
  columns: deadLetterColumns,
  query: (given) => ({
    ...filtersOf(given),
    type: given.optional("type"),
    order: given.isSet("desc") ? "desc" : undefined,
  }),
  none: "No dead letters found.",
  incomplete: "Older dead letters are omitted; use --partner without --desc to list them.",
});

const deadLetterCountColumns: readonly Column<DeadLetterCount>[] = [
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "REASON", cell: ({ reason }) => reason },
  { title: "TYPE", cell: ({ type }) => type, isWide: true },
  { title: "TENANT", cell: ({ tenant }) => tenant, isWide: true },
  { title: "COUNT", cell: ({ count }) => count },
  { title: "OLDEST", cell: ({ oldest_at: at }) => at },
  { title: "NEWEST", cell: ({ newest_at: at }) => at },
];

/** `heliograph dlq counts` */
export const countDeadLettersCommand = apiCommand({
  summary: "Counts dead letters by partner and reason, largest count first.",
  flags: [...filterFlags, typeFlag, groupFlag],
  read: (given) => ({
    query: { ...filtersOf(given), type: given.optional("type"), group_by: given.optional("group-by") },
  }),
  run: async (connection, { query }, output) => {
    const request = { path: "/webhooks/dead-letters/counts", query };
    const { data, meta } = await sendForJson<DeadLetterCounts>(connection, request);
    await output.list(deadLetterCountColumns, [data]);
    if (!meta.complete) say("There are more dead letters than the server counted.");
    else if (data.length === 0) say("No dead letters found.");
  },
});

const ownPartnerFlag: Flag = { ...partnerFlag, help: "Partner of the dead letters.", required: true };

const allFlag: Flag = { name: "all", help: "All dead letters visible to the token, without a filter." };

/** `heliograph dlq redrive` */
export const redriveCommand: Command<StartArguments> = {
  summary: "Redelivers the dead letters that match all filters; shows the count and requires confirmation first.",
  operands: [{ name: "EVENT", isOptional: true, isRepeated: true }],
  flags: [...filterFlags, { ...typeFlag, multiple: true }, allFlag, ...startFlags, ...apiFlags],
  read: (given, eventIds) => {
    const isNamed = eventIds.length > 0;
    const types = given.list("type");
    const filters = { ...filtersOf(given), event_ids: isNamed ? eventIds : undefined };
    const isAny = types.length > 0 || Object.values(filters).some((value) => value !== undefined);
    if (isAny === given.isSet("all")) throw new UsageError("dlq redrive needs either a filter or --all.");
    const body = { ...filters, types, all: isAny ? undefined : true };
    return { ...startArguments("dlq redrive", given), body, named: isNamed ? new Set(eventIds).size : undefined };
  },
  run: (args, context) => startReplay("/webhooks/dead-letters/redrive", args, context),
};

/** `heliograph dlq ack` */
export const acknowledgeCommand = apiCommand({
  summary: "Closes the dead letter of an event that was handled manually.",
  operands: [{ name: "EVENT" }],
  flags: [
    ownPartnerFlag,
    { name: "note", value: "TEXT", help: "Note for the history about what was done." },
    { name: "tenant", value: "TENANT", help: "Tenant of the event, if several tenants have an event with this id." },
  ],
  read: (given, [eventId = ""]) => ({
    request: {
      event_id: eventId,
      partner: given.text("partner"),
      note: given.optional("note"),
      tenant: given.optional("tenant"),
    },
  }),
  run: async (connection, { request }, output) => {
    const { body } = await send(connection, { method: "POST", path: "/webhooks/ack", body: request });
    await output.one<Ack>(body, ackText);
  },
});

function ackText({ event_id: id, partner, recipient }: Ack): string {
  const told =
    recipient === null ? "" : `; the partner responded with ${recipient.status ?? recipient.error ?? "nothing"}`;
  return plain(`${id} is handled for ${partner}${told}`);
}
