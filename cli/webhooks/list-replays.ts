import type { Command } from "../command-line/command.ts";
import { createOutput, type Column } from "../api/output.ts";
import { pagesOf } from "../api/pages.ts";
import { say, type Tone } from "../api/terminal.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import { limitFlag, limitOf } from "./event-filter.ts";

/** An item of `GET /webhooks/replay`. */
interface ReplaySummary {
  readonly replay_id: string;
  readonly kind: string;
  readonly status: string;
  readonly created_at: string;
  readonly requested_by: string | null;
  readonly filter: {
    readonly partners: readonly string[];
    readonly types: readonly string[];
    readonly only_failed: boolean;
  };
  readonly window: { readonly from: string | null; readonly to: string } | null;
  readonly event_ids: number | null;
  readonly published: number;
  readonly delivered: number;
  readonly failed: number;
  readonly detail: string | null;
}

const tones: Readonly<Record<string, Tone>> = {
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
  { title: "PARTNERS", cell: ({ filter }) => filter.partners.join(",") || "all" },
  { title: "PUBLISHED", cell: ({ published }) => published },
  { title: "DELIVERED", cell: ({ delivered }) => delivered },
  { title: "FAILED", cell: ({ failed }) => failed },
  { title: "REQUESTED BY", cell: ({ requested_by: client }) => client },
  { title: "EVENTS", cell: eventsOf, isWide: true },
  { title: "TYPES", cell: ({ filter }) => filter.types.join(",") || "all", isWide: true },
  { title: "DETAIL", cell: ({ detail }) => detail, isWide: true },
];

interface ListArguments extends ApiArguments {
  readonly limit: number;
}

/** `heliograph replays list` */
export const listReplaysCommand: Command<ListArguments> = {
  summary: "Lists replays and redrives with their progress and who asked for them, newest first.",
  flags: [limitFlag, ...apiFlags],
  read: (given) => ({ ...apiArguments(given), limit: limitOf(given) }),
  run: ({ connect, format, limit }, { environment }) =>
    withApi(connect, async (connection) => {
      const onMore = (): void => say(`There are more than ${limit}; see --limit.`);
      const asked = { path: "/webhooks/replay", query: {} };
      const pages = pagesOf<ReplaySummary>(connection, asked, { limit, onMore });
      const count = await createOutput(format, environment).list(columns, pages);
      if (count === 0) say("No replay was found.");
      return "done";
    }),
};

/** `3 ids`, `from 2026-01-31T12:00:00.000Z to 2026-01-31T13:00:00.000Z, failed only` */
function eventsOf({ event_ids: ids, window, filter }: ReplaySummary): string {
  const what = [
    ...(ids === null ? [] : [`${ids} ${ids === 1 ? "id" : "ids"}`]),
    ...(window === null ? [] : [`from ${window.from ?? "the oldest"} to ${window.to}`]),
    ...(filter.only_failed ? ["failed only"] : []),
  ];
  return what.length === 0 ? "all" : what.join(", ");
}
