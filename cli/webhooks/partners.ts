import type { PartnerHealthKind } from "../../api/partner-health.ts";
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
const healthTones: Readonly<Record<PartnerHealthKind, Tone>> = {
  ...tones,
  healthy: "good",
  failing: "bad",
  circuit_open: "bad",
  rate_limited: "waiting",
};
const listed = (texts: readonly string[]): string => [...new Set(texts)].join(",");

const columns: readonly Column<PartnerSummary>[] = [
  { title: "PARTNER", cell: ({ partner }) => partner },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => tones[state] },
  {
    title: "HEALTH",
    cell: ({ health }) => health?.kind,
    tone: ({ health }) => (health === undefined ? undefined : healthTones[health.kind]),
  },
  { title: "REASON", cell: reasonText },
  { title: "TYPES", cell: ({ subscriptions }) => listed(subscriptions.flatMap(({ types }) => types)) },
  { title: "TENANTS", cell: ({ subscriptions }) => listed(subscriptions.flatMap(({ tenants }) => tenants)) },
  { title: "KEYS", cell: ({ keys }) => keys.map(keyText).join(", ") },
  { title: "SINCE", cell: ({ health }) => health?.since, isWide: true },
  { title: "SUCCESS 24H", cell: ({ recent }) => percentText(recent?.success_rate), isWide: true },
  { title: "P95 24H", cell: ({ recent }) => millisecondsText(recent?.p95_ms), isWide: true },
  { title: "BACKLOG", cell: ({ backlog }) => backlog, isWide: true },
  { title: "LAST SUCCESS", cell: ({ recent }) => recent?.last_success_at, isWide: true },
  { title: "REJECTED", cell: ({ rejected }) => rejected?.message ?? null, isWide: true },
];

/** `heliograph partners` */
export const partnersCommand = apiCommand({
  summary: "Lists partners visible to the token, with their health, subscriptions and signing keys.",
  flags: [{ name: "search", value: "TEXT", help: "Only partners whose NAMESPACE/NAME contains this text." }],
  read: (given) => ({ query: { search: given.optional("search") } }),
  run: async (connection, { query }, output) => {
    const request = { path: "/webhooks/partners", query };
    const pages = pagesOf<PartnerSummary>(connection, request, { limit: Number.POSITIVE_INFINITY });
    if ((await output.list(columns, pages)) === 0) say("No partners found.");
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
type Reasons = Pick<PartnerSummary, "reason" | "health" | "last_failure"> &
  Partial<Pick<PartnerSummary, "missing" | "rejected">>;

/** Why it is held, what it lacks, why its present definition is not applied; else why it is not healthy. */
function reasonText({ reason, missing = null, rejected = null, ...state }: Reasons): string | null {
  const held = reason === null ? [] : [missing === null ? reason : `${reason}: ${missing}`];
  const edit = rejected === null ? [] : [`edit rejected: ${rejected.reason}`];
  const reasons = [...held, ...edit];
  if (reasons.length > 0) return reasons.join(", ");
  return healthText(state);
}

const failingKinds: ReadonlySet<string> = new Set(["failing", "circuit_open"]);

function healthText({ health, last_failure: failure }: Pick<Reasons, "health" | "last_failure">): string | null {
  const reason = health?.reason ?? null;
  return failure && failingKinds.has(health?.kind ?? "") ? `${reason}; last failure: ${failure.reason}` : reason;
}

function keyText({ id, not_after: end }: PartnerSummary["keys"][number]): string {
  return end === null ? id : `${id} until ${end}`;
}

const hundred = 100;

function percentText(share: number | null | undefined): string | null {
  return share === null || share === undefined ? null : `${Math.floor(share * hundred * hundred) / hundred}%`;
}

function millisecondsText(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : `${Math.round(ms)}ms`;
}
