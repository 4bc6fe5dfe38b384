import type { PartnerSummary, Ping } from "../../api/partners.ts";
import { UsageError } from "../command-line/flags.ts";
import { plain, say, type Tone } from "../command-line/terminal.ts";
import type { Column } from "../api/output.ts";
import { pagesOf, send } from "../api/request.ts";
import { apiCommand } from "../api/with-api.ts";
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
export const partnersCommand = apiCommand({
  summary: "Lists partners visible to the token, with their state, subscriptions and signing keys.",
  read: () => ({}),
  run: async (connection, _args, output) => {
    const request = { path: "/webhooks/partners", query: {} };
    const pages = pagesOf<PartnerSummary>(connection, request, { limit: Number.POSITIVE_INFINITY });
    if ((await output.list(columns, pages)) === 0) say("No partners are visible to the token.");
  },
});

/** `heliograph partners ping` */
export const pingCommand = apiCommand({
  summary: "Delivers a test event to a partner; with `--wait`, waits until it ends and exits with 1 if it failed.",
  operands: [{ name: "PARTNER" }],
  flags: [
    {
      name: "tenant",
      value: "TENANT",
      help: "Tenant of the event; defaults to the first tenant that the token and the partner share.",
    },
    { name: "wait", help: "Waits until the delivery ends." },
    timeoutFlag,
  ],
  read: (given, [partner = ""]) => ({
    waitMs: waitMsOf(given),
    path: pingPath(partner),
    body: { tenant: given.optional("tenant") },
  }),
  run: async (connection, { path, body, waitMs }, output) => {
    const accepted = await send(connection, { method: "POST", path, body });
    const { event_id: id, tenant, partner } = JSON.parse(accepted.body.toString()) as Ping;
    if (waitMs !== undefined) return waitAndPrint(connection, id, waitMs, output);
    await output.one(accepted.body, () => plain(`${id} accepted for ${partner}, tenant ${tenant}`));
    return "done";
  },
});

/** @throws UsageError */
function pingPath(partner: string): string {
  const [namespace = "", name = "", ...more] = partner.split("/");
  if (namespace === "" || name === "" || more.length > 0)
    throw new UsageError("PARTNER must be NAMESPACE/NAME, such as default/acme.");
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
