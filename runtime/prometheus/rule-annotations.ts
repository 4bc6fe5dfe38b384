import type { SloConfig } from "../../crds/config.ts";
import { formatCalendar, formatDuration } from "../metrics/request/time.ts";
import type { SloView } from "../metrics/slo/slo-selection.ts";
import type { BurnTier } from "../metrics/slo/slo-status.ts";

const speeds = { page: "fast", ticket: "slowly" } as const;

/** What people read in an alert: which budget burns, its limits, and what the owner of the metric says. */
export function ruleAnnotations(
  { slo, entry }: SloView,
  severity: BurnTier["severity"],
  tiers: readonly BurnTier[],
): Readonly<Record<string, string>> {
  const percent = Number((slo.objective * 100).toPrecision(12));
  const limits = tiers.map(({ longSeconds, shortSeconds, factor }) => {
    return `${factor} over ${formatDuration(longSeconds)} and ${formatDuration(shortSeconds)}`;
  });
  const { runbookUrl, contact } = entry.metric;
  const counted = slo.over === undefined ? "events" : "slices";
  return {
    ...literal({ ...(runbookUrl && { runbook_url: runbookUrl }), ...(contact && { contact }) }),
    summary: `The objective ${slo.name} of ${slo.domain} burns its error budget ${speeds[severity]}`,
    description:
      `The burn rate of ${entry.metric.id} is {{ $value | humanize }}. ` +
      `The limits are ${limits.join(" or ")}; the objective is ${percent} % of ${counted} ${windowText(slo)}.` +
      (slo.corrections ? ` ${correctionsText(counted)}` : ""),
  };
}

/** A rule cannot leave out a part of its windows. */
function correctionsText(counted: string): string {
  return `The ${counted} of corrections count in its windows, unlike on the status page and in /v1/metrics/slo.`;
}

function windowText({ windowDays, calendar }: SloConfig): string {
  if (calendar === undefined) return `over ${windowDays} days`;
  return `in each ${formatCalendar(calendar.period, calendar.timeZone)}, and these windows are rolling`;
}

/** States what rules cannot do for calendar windows. */
export function calendarNotes({ slo: { name, calendar, windowDays } }: Pick<SloView, "slo">): readonly string[] {
  if (calendar === undefined) return [];
  return [
    `the alerts of the objective ${name} have the rolling windows of ${windowDays} days, because PromQL has no ` +
      "calendar windows; its budget is in /v1/metrics/slo",
  ];
}

/** Texts as they are: values of labels and annotations are templates. */
export function literal(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [name, value.replaceAll("{{", '{{ "{{" }}')]),
  );
}
