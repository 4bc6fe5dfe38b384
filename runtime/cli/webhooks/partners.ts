import type { Command } from "../command.ts";
import { createOutput, type Column } from "../api/output.ts";
import { pagesOf } from "../api/pages.ts";
import { say, type Tone } from "../api/terminal.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";

/** An item of `GET /webhooks/partners`. */
interface Partner {
  readonly partner: string;
  readonly state: string;
  readonly reason: string | null;
  readonly subscriptions: readonly { readonly types: readonly string[]; readonly tenants: readonly string[] }[];
  readonly keys: readonly { readonly id: string; readonly not_after: string | null }[];
}

const tones: Readonly<Record<string, Tone>> = { active: "good", paused: "waiting", held: "waiting", disabled: "bad" };
const listed = (texts: readonly string[]): string => [...new Set(texts)].join(",");

const columns: readonly Column<Partner>[] = [
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => tones[state] },
  { title: "REASON", cell: ({ reason }) => reason, isWide: true },
  { title: "TYPES", cell: ({ subscriptions }) => listed(subscriptions.flatMap(({ types }) => types)) },
  { title: "TENANTS", cell: ({ subscriptions }) => listed(subscriptions.flatMap(({ tenants }) => tenants)) },
  { title: "KEYS", cell: ({ keys }) => keys.map(keyText).join(", ") },
];

/** `heliograph partners` */
export const partnersCommand: Command<ApiArguments> = {
  summary: "Lists the partners that the token may see, with their state, subscriptions and signing keys.",
  flags: apiFlags,
  read: apiArguments,
  run: ({ connect, format }, { environment }) =>
    withApi(connect, async (connection) => {
      const asked = { path: "/webhooks/partners", query: {} };
      const pages = pagesOf<Partner>(connection, asked, { limit: Number.POSITIVE_INFINITY });
      const count = await createOutput(format, environment).list(columns, pages);
      if (count === 0) say("The token sees no partner.");
      return "done";
    }),
};

function keyText({ id, not_after: end }: Partner["keys"][number]): string {
  return end === null ? id : `${id} until ${end}`;
}
