import type { PartnerDetail } from "../../api/partners.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { DataTable, Facts, type Column } from "../components/data-table.tsx";
import { formatNumber, formatSeconds } from "../components/format.ts";
import { Countdown, Timestamp, useNow } from "../components/timestamp.tsx";
import { Section } from "../components/page.tsx";
import { checkStep, editStep } from "./advice.ts";
import { StepLine } from "./step-line.tsx";

type Key = PartnerDetail["keys"][number];

const nowStepMs = 60_000;
const scheduleShownMax = 12;

/** The keys that sign or are accepted, and until when. */
export function KeysSection({ partner }: { readonly partner: PartnerDetail }): JSX.Element {
  const nowMs = useNow(nowStepMs);
  const columns: readonly Column<Key>[] = [
    { header: "Key", cell: ({ id }) => <code>{id}</code> },
    { header: "Use", cell: (key) => <Badge {...keyUse(partner, key, nowMs)} />, isInCard: true },
    {
      header: "Expires",
      cell: ({ not_after: at }) => (at === null ? "never" : <Timestamp at={at} />),
      isInCard: true,
    },
    {
      header: "Expires in",
      cell: ({ not_after: at }) => (at === null ? "–" : <Countdown to={at} over="expired" />),
      isInCard: true,
    },
  ];
  return (
    <Section title="Signing keys" lead={`Scheme ${partner.signing.scheme}. Secrets are never shown.`}>
      <DataTable
        caption="Signing keys"
        isCards
        look="labelled key-rows"
        columns={columns}
        rows={partner.keys}
        rowKey={({ id }) => id}
      />
    </Section>
  );
}

/**
 * What a key does now, as a badge: the first valid one signs, side by side the others too. Recipients accept every
 * valid key.
 */
export function keyUse(
  { keys, signing }: Pick<PartnerDetail, "keys" | "signing">,
  key: Key,
  nowMs: number,
): { readonly state: string; readonly tone?: "good" | "bad" } {
  const isValid = ({ not_after: at }: Key): boolean => at === null || Date.parse(at) >= nowMs;
  if (!isValid(key)) return { state: "expired", tone: "bad" };
  if (keys.find(isValid)?.id === key.id) return { state: "signs", tone: "good" };
  return { state: signing.side_by_side === true ? "also_signs" : "accepted" };
}

/** How the partner is delivered to, and the command that edits it. */
export function SettingsSection({ partner }: { readonly partner: PartnerDetail }): JSX.Element {
  const { retry, delivery } = partner;
  return (
    <Section title="Configuration" lead={whereEdited(partner)}>
      <Facts
        facts={[
          ["Retries after", scheduleText(retry.schedule_seconds)],
          ["Gives up after", formatSeconds(retry.max_age_seconds)],
          ["Jitter", `${formatNumber(retry.jitter_percent)} %`],
          ["Max in flight", formatNumber(delivery.max_in_flight)],
          ["Max rate", delivery.rate_per_second === null ? "no limit" : `${delivery.rate_per_second} a second`],
          ["Max backlog", delivery.max_backlog === null ? "no limit" : formatNumber(delivery.max_backlog)],
        ]}
      />
      <StepLine step={editStep(partner)} />
      <StepLine step={checkStep(partner)} />
    </Section>
  );
}

function whereEdited({ managed_by: place }: PartnerDetail): string {
  return place?.source === "folder"
    ? "A file of the configuration folder declares the partner. The folder is read again after each change."
    : "The resource WebhookPartner declares the partner.";
}

function scheduleText(seconds: readonly number[]): string {
  if (seconds.length === 0) return "never";
  const shown = seconds.slice(0, scheduleShownMax).map(formatSeconds).join(", ");
  return seconds.length > scheduleShownMax ? `${shown}, …` : shown;
}
