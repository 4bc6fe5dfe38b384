import type { Ack, DeadLetter, DeadLetterCount, DeadLetterCounts } from "../../api/replays.ts";
import { type Column, createOutput } from "../api/output.ts";
import { send, sendForJson } from "../api/request.ts";
import { type ApiArguments, apiArguments, apiCommand, apiFlags, withApi } from "../api/with-api.ts";
import type { Command, Context, ExitName } from "../command-line/command.ts";
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
import { startArguments, type StartArguments, startFlags, startReplay, yesFlag } from "./start-replay.ts";

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

/** A delivery that ended without a request has the failure before it. */
function reasonText({ reason, last_failure: failure }: Pick<DeadLetter, "reason" | "last_failure">): string {
  return failure ? `${reason}; last failure: ${failure.reason}` : reason;
}

const deadLetterColumns: readonly Column<DeadLetter>[] = [
  { title: "EVENT", cell: ({ event_id: id }) => id },
  { title: "TYPE", cell: ({ type }) => type },
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "TENANT", cell: ({ tenant }) => tenant },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => stateTone(state) },
  { title: "REASON", cell: reasonText },
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
  { title: "REASON", cell: reasonText },
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

const allFlag: Flag = { name: "all", help: "All dead letters visible to the token, without a filter." };

/** Filters of a job; undefined if there is neither a filter nor `--all`, or both. @throws UsageError */
function selectionOf(given: Given, eventIds: readonly string[]): Readonly<Record<string, unknown>> | undefined {
  const types = given.list("type");
  const filters = { ...filtersOf(given), event_ids: eventIds.length > 0 ? eventIds : undefined };
  const isAny = types.length > 0 || Object.values(filters).some((value) => value !== undefined);
  if (isAny === given.isSet("all")) return undefined;
  return { ...filters, types, all: isAny ? undefined : true };
}

/** `heliograph dlq redrive` */
export const redriveCommand: Command<StartArguments> = {
  summary: "Redelivers the dead letters that match all filters; shows the count and requires confirmation first.",
  operands: [{ name: "EVENT", isOptional: true, isRepeated: true }],
  flags: [...filterFlags, { ...typeFlag, multiple: true }, allFlag, ...startFlags, ...apiFlags],
  read: (given, eventIds) => {
    const body = selectionOf(given, eventIds);
    if (body === undefined) throw new UsageError("dlq redrive needs either a filter or --all.");
    const named = eventIds.length > 0 ? new Set(eventIds).size : undefined;
    return { ...startArguments("dlq redrive", given), body, named };
  },
  run: (args, context) => startReplay("/webhooks/dead-letters/redrive", args, context),
};

const acknowledgeWords = { one: "dead letter", many: "dead letters", confirmation: "Acknowledge them?" } as const;

/** The dead letter of one event, which is acknowledged at once. */
interface SingleArguments extends ApiArguments {
  readonly single: Readonly<Record<string, unknown>>;
}

/** `heliograph dlq ack` */
export const acknowledgeCommand: Command<SingleArguments | StartArguments> = {
  summary: "Closes dead letters that were handled manually: of one event, or all that match all filters.",
  operands: [{ name: "EVENT", isOptional: true }],
  flags: [
    ...filterFlags,
    { ...typeFlag, multiple: true },
    allFlag,
    { name: "note", value: "TEXT", help: "Note for the history about what was done." },
    { name: "rate", value: "COUNT", help: "Maximum dead letters per second; defaults to the server's default." },
    { name: "dry-run", help: "Prints how many would be acknowledged without starting." },
    yesFlag,
    { name: "follow", help: "Waits until all are acknowledged and shows progress." },
    ...apiFlags,
  ],
  read: (given, [eventId]) => {
    const note = given.optional("note");
    if (eventId !== undefined)
      return { ...apiArguments(given), single: { ...singleOf(given), event_id: eventId, note } };
    const selection = selectionOf(given, []);
    if (selection === undefined) throw new UsageError("dlq ack needs an event, a filter or --all.");
    return { ...startArguments("dlq ack", given), body: { ...selection, note }, words: acknowledgeWords };
  },
  run: (args, context) =>
    "single" in args ? acknowledgeOne(args, context) : startReplay("/webhooks/dead-letters/ack", args, context),
};

/** Flags that select or control a job. */
const valuesOfJobs = ["reason", "since", "until", "type", "rate"] as const;
const switchesOfJobs = ["all", "dry-run", "follow"] as const;

/** @throws UsageError without a partner, or with a flag of jobs */
function singleOf(given: Given): Readonly<Record<"partner" | "tenant", string | undefined>> {
  const [partner, tenant] = [given.optional("partner"), given.optional("tenant")];
  if (partner === undefined) throw new UsageError("--partner is required for an event.");
  const other = [
    ...valuesOfJobs.filter((name) => given.list(name).length > 0),
    ...switchesOfJobs.filter((name) => given.isSet(name)),
  ];
  if (other.length > 0) throw new UsageError(`dlq ack of an event does not accept --${other.join(", --")}.`);
  return { partner, tenant };
}

function acknowledgeOne({ connect, format, single }: SingleArguments, { environment }: Context): Promise<ExitName> {
  return withApi(connect, async (connection) => {
    const { body } = await send(connection, { method: "POST", path: "/webhooks/ack", body: single });
    await createOutput(format, environment).one<Ack>(body, ackText);
    return "done";
  });
}

function ackText({ event_id: id, partner, recipient }: Ack): string {
  const told =
    recipient === null ? "" : `; the partner responded with ${recipient.status ?? recipient.error ?? "nothing"}`;
  return plain(`${id} is handled for ${partner}${told}`);
}
