import { pageItemsMax } from "../../api/events.ts";
import type { AttemptHistory, EventHistory, EventSummary } from "../../api/histories.ts";
import type { Column, Output } from "../api/output.ts";
import type { EventDeclaration, EventDryRun, EventExplanation, PartnerExplanation } from "../../api/partner-health.ts";
import type { ApiConnection } from "../api/connection.ts";
import { send, sendForJson } from "../api/request.ts";
import { apiCommand } from "../api/with-api.ts";
import type { ExitName } from "../command-line/command.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { plain, say } from "../command-line/terminal.ts";
import {
  deliveryColumns,
  descFlag,
  eventColumns,
  eventPath,
  listCommand,
  partnerFlag,
  requirePartner,
  selectionOf,
  sinceFlag,
  timeOf,
  typeFlag,
  untilFlag,
} from "./event-forms.ts";
import { followEvents } from "./follow-events.ts";

/** `heliograph events list` */
export const listEventsCommand = listCommand<EventSummary>({
  summary: "Lists events with the states of their deliveries, oldest first; the last 24 hours by default.",
  flags: [
    sinceFlag,
    untilFlag,
    typeFlag,
    partnerFlag,
    { name: "state", value: "STATE", help: "Only events with a delivery in this state, for example dead." },
    { name: "status", value: "STATUS", help: "Only events whose last response has this status: 503, 5xx, or none." },
    {
      name: "reason",
      value: "REASON",
      help: "Only events with a delivery that has this reason, for example status_503.",
    },
    descFlag,
  ],
  path: "/webhooks/events",
  columns: eventColumns,
  query: (given) => ({
    from: timeOf(given, "since", Date.now()),
    to: timeOf(given, "until", Date.now()),
    ...selectionOf(given),
    state: given.optional("state"),
    status: given.optional("status"),
    reason: given.optional("reason"),
    order: given.isSet("desc") ? "desc" : undefined,
  }),
  none: "No events found.",
  check: (connection, { partner }) => requirePartner(connection, partner?.toString()),
});

/** Flags that choose which partners are explained. @param flag explains them */
export function explainFlags(flag: string): readonly Flag[] {
  const value = "NAMESPACE/NAME";
  return [
    { name: "partner", value, help: `With \`--${flag}\`, only this partner.` },
    { name: "after", value, help: `With \`--${flag}\`, only partners after this one, by name.` },
  ];
}

/**
 * Parameters of {@link explainFlags}; undefined without the flag that explains.
 * @param without what happens to the partners without the flag
 * @throws UsageError
 */
export function explainQuery(given: Given, flag: string, without: string): ExplainQuery | undefined {
  const [partner, cursor] = [given.optional("partner"), given.optional("after")];
  if (given.isSet(flag)) return { limit: pageItemsMax, partner, cursor };
  if (partner === undefined && cursor === undefined) return undefined;
  throw new UsageError(`--partner and --after are for --${flag}; without it, ${without}.`);
}

export interface ExplainQuery {
  readonly limit: number;
  readonly partner: string | undefined;
  readonly cursor: string | undefined;
}

/** Tells a partner that is not explained from one that does not exist. @throws CommandError `refused` for the latter */
async function requireExplained(
  connection: ApiConnection,
  { partner }: Partial<ExplainQuery>,
  explanation: EventExplanation | null | undefined,
): Promise<void> {
  if (partner === undefined || explanation?.partners.length !== 0) return;
  await requirePartner(connection, partner);
  say(`${plain(partner)} is not explained: --after leaves it out, or it subscribes to no tenant of the token.`);
}

/** `heliograph events get` */
export const getEventCommand = apiCommand({
  summary: "Prints an event as it was accepted and the state of each delivery.",
  operands: [{ name: "EVENT" }],
  flags: [
    { name: "explain", help: "Also prints why each partner got the event or did not." },
    ...explainFlags("explain"),
  ],
  read: (given, [eventId = ""]) => ({
    eventId,
    explain: explainQuery(given, "explain", "the deliveries to all partners are printed"),
  }),
  run: async (connection, { eventId, explain }, output) => {
    const query = explain === undefined ? {} : { explain: "true", ...explain };
    const { body } = await send(connection, { path: eventPath(eventId), query });
    await output.one<EventHistory>(body, (history) => eventText(history, output));
    if (explain === undefined) return;
    await requireExplained(connection, explain, (JSON.parse(body.toString()) as EventHistory).explanation);
  },
});

/** `heliograph events tail` */
export const tailEventsCommand = apiCommand({
  summary: "Prints events as they are accepted until interrupted; reconnects after a lost connection.",
  flags: [{ ...sinceFlag, standard: "10s" }, typeFlag, partnerFlag],
  read: (given) => ({ query: selectionOf(given), from: timeOf(given, "since", Date.now()) ?? "" }),
  run: async (connection, { query, from }, output) => {
    await requirePartner(connection, query.partner);
    // Only the end of the program ends it.
    const { signal } = new AbortController();
    await output.list(eventColumns, followEvents(connection, { query, start: { from }, signal, onNote: say }));
  },
});

interface PartnerAttempt extends AttemptHistory {
  readonly partner: string;
}

const isSuccess = ({ status }: AttemptHistory): boolean => status !== null && status >= 200 && status < 300;

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
export const attemptsCommand = apiCommand({
  summary: "Lists all attempts to deliver an event, by partner.",
  operands: [{ name: "EVENT" }],
  flags: [partnerFlag],
  read: (given, [eventId = ""]) => ({ eventId, partner: given.optional("partner") }),
  run: async (connection, { eventId, partner }, output) => {
    const { deliveries } = await sendForJson<EventHistory>(connection, { path: eventPath(eventId) });
    const selected = deliveries.filter((delivery) => (partner ?? delivery.partner) === delivery.partner);
    const rows = selected.flatMap((one) => one.attempts.map((attempt) => ({ partner: one.partner, ...attempt })));
    await output.list(columns, [rows]);
    if (selected.length === 0) await requirePartner(connection, partner);
    if (rows.length === 0) say("No attempts yet.");
  },
});

/** The event, and its deliveries as a table. */
function eventText({ event, deliveries, explanation }: EventHistory, output: Output): string {
  const lines = JSON.stringify(event, undefined, 2).split("\n").map(plain);
  const texts = [lines.join("\n"), deliveriesText(deliveries, output), ...explanationTexts(explanation, output)];
  return texts.join("\n\n").replaceAll(/\n{3,}/gu, "\n\n");
}

/** @param routed title and value of the column that states who gets the event */
const explanationColumns = (routed: Column<PartnerExplanation>): readonly Column<PartnerExplanation>[] => [
  { title: "PARTNER", cell: ({ partner }) => partner },
  routed,
  { title: "REASON", cell: ({ reason }) => reason },
  { title: "STATE", cell: ({ state }) => state },
  { title: "SUBSCRIPTION", cell: ({ subscription }) => subscription },
  { title: "MATCHER", cell: ({ matcher }) => (matcher === null ? null : `${matcher.pointer} ${matcher.operator}`) },
  { title: "FOUND", cell: ({ matcher }) => matcher?.value ?? matcher?.found },
];
const storedColumns = explanationColumns({ title: "ROUTED", cell: ({ routed }) => (routed ? "yes" : "no") });
const dryRunColumns = explanationColumns({
  title: "WOULD BE ROUTED",
  cell: ({ reason }) => (reason === "would_be_routed" ? "yes" : "no"),
});

function explanationTexts(explanation: EventHistory["explanation"], output: Output): readonly string[] {
  if (explanation === undefined) return [];
  const { declaration, evaluated, configuration } = explanation;
  const revision = configuration === null ? "" : ` ${configuration}`;
  const basis =
    evaluated === "at_routing"
      ? `Evaluated with the configuration${revision} that routed the event.`
      : `Evaluated now, with the configuration${revision}: the one that routed the event is not available.`;
  const declared = `The event's type and version: ${declarationText(declaration)}.`;
  const [table = "", ...more] = explainedPartners(explanation, storedColumns, output);
  return [`${basis}\n${declared}\n${table}`, ...more];
}

function declarationText({ state, sunset_at: sunset }: EventDeclaration): string {
  if (sunset === null) return state;
  return state === "Retired" ? `Retired since ${plain(sunset)}` : `${state} until ${plain(sunset)}`;
}

/** The partners as a table, and how to list more. */
function explainedPartners(
  { partners, cursor }: EventExplanation,
  titles: readonly Column<PartnerExplanation>[],
  output: Output,
): readonly string[] {
  const more = cursor === null ? [] : [`There are more partners: add --after ${plain(cursor)}.\n`];
  return [output.table(titles, partners), ...more];
}

/** Checks an event on the server, which stores nothing, and prints the result. */
export async function printDryRun(
  connection: ApiConnection,
  event: Uint8Array,
  explain: ExplainQuery,
  output: Output,
): Promise<ExitName> {
  const query = { dry_run: "true", ...explain };
  const { body } = await send(connection, { method: "POST", path: "/events", query, body: event });
  await output.one<EventDryRun>(body, (result) => dryRunText(result, output));
  await requireExplained(connection, explain, (JSON.parse(body.toString()) as EventDryRun).explanation);
  return "done";
}

function dryRunText(
  { event_id: id, tenant, duplicate, declaration, explanation }: EventDryRun,
  output: Output,
): string {
  const lines = [
    `${id} is valid for tenant ${tenant}. Its type and version: ${declarationText(declaration)}.`,
    ...(duplicate ? ["It is a duplicate: the same event is stored already, and sending it again routes nothing."] : []),
  ];
  const texts = [lines.join("\n")];
  if (explanation === null) texts.push("The token may not read events (webhooks:read), so no partners are listed.");
  else texts.push(...explainedPartners(explanation, dryRunColumns, output));
  return `${texts.join("\n\n").trimEnd()}\n`;
}

export function deliveriesText(deliveries: EventHistory["deliveries"], output: Output): string {
  return deliveries.length === 0 ? "No partner receives the event.\n" : output.table(deliveryColumns, deliveries);
}
