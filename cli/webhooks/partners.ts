import type { PartnerSummary, Ping } from "../../api/partners.ts";
import { UsageError } from "../command-line/flags.ts";
import { plain, say, type Tone } from "../command-line/terminal.ts";
import type { Command } from "../command-line/command.ts";
import { createOutput, type Column } from "../api/output.ts";
import { pagesOf, send } from "../api/request.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import { timeoutFlag, waitAndPrint, waitMsOf } from "./send.ts";

const tones: Readonly<Record<PartnerSummary["state"], Tone>> = {
  active: "good",
  paused: "waiting",
  held: "waiting",
  disabled: "bad",
  rejected: "bad",
};
const listed = (texts: readonly string[]): string => [...new Set(texts)].join(",");

const columns: readonly Column<PartnerSummary>[] = [
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => tones[state] },
  { title: "REASON", cell: reasonText },
  { title: "TYPES", cell: ({ subscriptions }) => listed(subscriptions.flatMap(({ types }) => types)) },
  { title: "TENANTS", cell: ({ subscriptions }) => listed(subscriptions.flatMap(({ tenants }) => tenants)) },
  { title: "KEYS", cell: ({ keys }) => keys.map(keyText).join(", ") },
  { title: "REJECTED", cell: ({ rejected }) => rejected?.message ?? null, isWide: true },
];

/** `heliograph partners` */
export const partnersCommand: Command<ApiArguments> = {
  summary: "Lists the partners that the token may see, with their state, subscriptions and signing keys.",
  flags: apiFlags,
  read: apiArguments,
  run: ({ connect, format }, { environment }) =>
    withApi(connect, async (connection) => {
      const asked = { path: "/webhooks/partners", query: {} };
      const pages = pagesOf<PartnerSummary>(connection, asked, { limit: Number.POSITIVE_INFINITY });
      const count = await createOutput(format, environment).list(columns, pages);
      if (count === 0) say("The token sees no partner.");
      return "done";
    }),
};

interface PingArguments extends ApiArguments {
  /** Target of the request. */
  readonly path: string;
  readonly body: Readonly<Record<string, string>>;
  /** Undefined: not at all. */
  readonly waitMs?: number;
}

/** `heliograph partners ping` */
export const pingCommand: Command<PingArguments> = {
  summary: "Delivers a test event to one partner; with `--wait` until it has ended, and with 1 when it has failed.",
  operands: [{ name: "PARTNER" }],
  flags: [
    {
      name: "tenant",
      value: "TENANT",
      help: "Tenant of the event; without it the first that token and partner share.",
    },
    { name: "wait", help: "Waits until the delivery has ended." },
    timeoutFlag,
    ...apiFlags,
  ],
  read: (given, [partner = ""]) => {
    const tenant = given.optional("tenant");
    const waitMs = waitMsOf(given);
    return {
      ...apiArguments(given),
      path: pingPath(partner),
      body: tenant === undefined ? {} : { tenant },
      ...(given.isSet("wait") ? { waitMs } : {}),
    };
  },
  run: ({ connect, format, path, body, waitMs }, { environment }) =>
    withApi(connect, async (connection) => {
      const accepted = await send(connection, { method: "POST", path, body });
      const { event_id: id, tenant, partner } = JSON.parse(accepted.body.toString()) as Ping;
      const output = createOutput(format, environment);
      if (waitMs !== undefined) return waitAndPrint(connection, id, waitMs, output);
      await output.one(accepted.body, () => plain(`${id} accepted for ${partner}, tenant ${tenant}`));
      return "done";
    }),
};

/** @throws UsageError */
function pingPath(partner: string): string {
  const [namespace = "", name = "", ...more] = partner.split("/");
  if (namespace === "" || name === "" || more.length > 0)
    throw new UsageError("PARTNER is namespace/name, such as default/acme.");
  return `/webhooks/partners/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/ping`;
}

/** Servers of earlier versions do not report what is missing or why the definition is rejected. */
type Reasons = Pick<PartnerSummary, "reason"> & Partial<Pick<PartnerSummary, "missing" | "rejected">>;

/** Why it is held, what it lacks, and why its present definition is not applied. */
function reasonText({ reason, missing = null, rejected = null }: Reasons): string | null {
  const held = reason === null ? [] : [missing === null ? reason : `${reason}: ${missing}`];
  const edit = rejected === null ? [] : [`edit rejected: ${rejected.reason}`];
  return [...held, ...edit].join(", ") || null;
}

function keyText({ id, not_after: end }: PartnerSummary["keys"][number]): string {
  return end === null ? id : `${id} until ${end}`;
}
