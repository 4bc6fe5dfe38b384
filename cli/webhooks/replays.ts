import type { ReplaySummary } from "../../api/replays.ts";
import type { Column } from "../api/output.ts";
import { send } from "../api/request.ts";
import { apiCommand, apiFlags } from "../api/with-api.ts";
import type { Command } from "../command-line/command.ts";
import { type Given, UsageError } from "../command-line/flags.ts";
import type { Tone } from "../command-line/terminal.ts";
import { listCommand, partnerFlag, sinceFlag, timeOf, typeFlag, untilFlag } from "./event-forms.ts";
import {
  followFlag,
  followReplay,
  printReplay,
  replayPath,
  startArguments,
  type StartArguments,
  startFlags,
  startReplay,
} from "./start-replay.ts";

const operands = [{ name: "REPLAY" }] as const;

/** `heliograph replay` */
export const replayCommand: Command<StartArguments> = {
  summary: "Redelivers events of a time range or by id; shows the count and requires confirmation first.",
  operands: [{ name: "EVENT", isOptional: true, isRepeated: true }],
  flags: [
    sinceFlag,
    untilFlag,
    { ...typeFlag, multiple: true },
    { ...partnerFlag, multiple: true },
    { name: "only-failed", help: "Only failed deliveries." },
    { name: "force", help: "Also deliveries so old that the partner may no longer deduplicate them." },
    ...startFlags,
    ...apiFlags,
  ],
  read: (given, eventIds) => ({ ...startArguments("replay", given), body: bodyOf(given, eventIds) }),
  run: (args, context) => startReplay("/webhooks/replay", args, context),
};

const tones: Readonly<Record<ReplaySummary["status"], Tone>> = {
  completed: "good",
  queued: "waiting",
  running: "waiting",
  cancelled: "waiting",
  failed: "bad",
};

const columns: readonly Column<ReplaySummary>[] = [
  { title: "REPLAY", cell: ({ replay_id: id }) => id },
  { title: "KIND", cell: ({ kind }) => kind },
  { title: "STATUS", cell: ({ status }) => status, tone: ({ status }) => tones[status] },
  { title: "CREATED", cell: ({ created_at: at }) => at },
  { title: "PARTNERS", cell: partnersText },
  { title: "PUBLISHED", cell: ({ published }) => published },
  { title: "DELIVERED", cell: ({ delivered }) => delivered },
  { title: "FAILED", cell: ({ failed }) => failed },
  { title: "REQUESTED BY", cell: ({ requested_by: client }) => client },
  { title: "EVENTS", cell: eventsOf, isWide: true },
  { title: "TYPES", cell: ({ filter }) => filter.types.join(",") || "all", isWide: true },
  { title: "DETAIL", cell: ({ detail }) => detail, isWide: true },
];

/** `heliograph replays list` */
export const listReplaysCommand = listCommand<ReplaySummary>({
  summary: "Lists replays and redrives with their progress and requester, newest first.",
  flags: [{ ...partnerFlag, help: "Only replays that may send to this partner." }],
  path: "/webhooks/replay",
  query: (given) => ({ partner: given.optional("partner") }),
  columns,
  none: "No replays found.",
});

/** `heliograph replays get` */
export const getReplayCommand = apiCommand({
  summary: "Prints the state and counts of a replay or redrive; with `--follow`, until its deliveries end.",
  operands,
  flags: [followFlag],
  read: (given, [id = ""]) => ({ id, follows: given.isSet("follow") }),
  run: async (connection, { id, follows }, output) => {
    if (follows) return followReplay(connection, id, output);
    return printReplay((await send(connection, { path: replayPath(id) })).body, output);
  },
});

/** `heliograph replays cancel` */
export const cancelReplayCommand = apiCommand({
  summary: "Cancels a replay or redrive: nothing more is published, but published deliveries continue.",
  operands,
  read: (_given, [id = ""]) => ({ id }),
  run: async (connection, { id }, output) => {
    const { body } = await send(connection, { method: "DELETE", path: replayPath(id) });
    return printReplay(body, output);
  },
});

const partnersShown = 3;

/** `shop/a,shop/b,shop/c and 2 more` */
function partnersText({ filter, selected_partners: selected }: ReplaySummary): string {
  if (filter.partners.length > 0 || selected === undefined) return filter.partners.join(",") || "all";
  const more = selected.length - partnersShown;
  return selected.slice(0, partnersShown).join(",") + (more > 0 ? ` and ${more} more` : "");
}

function bodyOf(given: Given, eventIds: readonly string[]): StartArguments["body"] {
  const nowMs = Date.now();
  const [from, to] = [timeOf(given, "since", nowMs), timeOf(given, "until", nowMs)];
  const hasIds = eventIds.length > 0;
  if (hasIds === (from !== undefined) || (hasIds && to !== undefined))
    throw new UsageError("replay needs either --since or event ids.");
  return {
    event_ids: hasIds ? eventIds : undefined,
    from,
    to,
    types: given.list("type"),
    partners: given.list("partner"),
    only_failed: given.isSet("only-failed"),
    force: given.isSet("force"),
  };
}

/** `3 ids`, `from 2026-01-31T12:00:00.000Z to 2026-01-31T13:00:00.000Z, failed only` */
function eventsOf({ event_ids: ids, window, filter }: ReplaySummary): string {
  const what = [
    ...(ids === null ? [] : [`${ids} ${ids === 1 ? "id" : "ids"}`]),
    ...(window === null ? [] : [`from ${window.from ?? "the oldest"} to ${window.to}`]),
    ...(filter.only_failed ? ["failed only"] : []),
  ];
  return what.length === 0 ? "all" : what.join(", ");
}
