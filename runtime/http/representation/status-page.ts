import { formatCalendar } from "../../metrics/request/time.ts";
import { hash } from "node:crypto";
import type { SloState, StatusAnswer } from "../../../api/objectives.ts";

type PublicObjective = StatusAnswer["data"][number];
type Corrections = NonNullable<PublicObjective["corrections"]>;

const words: Readonly<Record<SloState, string>> = {
  ok: "Within its objective",
  increasing: "More errors than usual",
  critical: "Disrupted",
  recovering: "Recovering",
  insufficient_data: "Too few events to tell",
  late: "Status unknown",
  failed: "Status unknown",
};

const summaries: Readonly<Record<SloState, string>> = {
  ok: "All services are within their objectives.",
  increasing: "Some services have more errors than usual.",
  critical: "Some services are disrupted.",
  recovering: "Some services are recovering.",
  insufficient_data: "Some services had too few events to tell.",
  late: "The status of some services is unknown.",
  failed: "The status of some services is unknown.",
};

const style = [
  ":root{color-scheme:light dark;font:100%/1.5 system-ui,sans-serif}",
  "body{margin:0 auto;max-width:44rem;padding:1rem}",
  "h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.1rem;margin:0}",
  "p{margin:.25rem 0}ul{list-style:none;margin:1.5rem 0;padding:0}",
  "li{border:1px solid #8888;border-inline-start:.4rem solid #767676;border-radius:.4rem}",
  "li{margin:.75rem 0;padding:.75rem}",
  ".summary{font-size:1.1rem}.state{font-weight:600}meter{width:100%;height:1rem}",
  ".ok{border-inline-start-color:#2e7d32}.critical{border-inline-start-color:#c62828}",
  ".increasing,.recovering{border-inline-start-color:#b26a00}",
].join("");

/** Allows this page's own style and nothing else: no script, no frame, no request. */
export const statusPagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${hash("sha256", style, "base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The status page of a tenant. It needs no script. */
export function statusPage({ tenant, status, data }: StatusAnswer): string {
  const latest =
    data
      .map(({ at }) => at)
      .sort()
      .at(-1) ?? "";
  return pageOf(`Status of ${tenant}`, [
    `<p class="summary">${summaryOf(status, data)}</p>`,
    `<ul>${data.map((objective) => objectiveItem(objective, titleOf(objective, data))).join("")}</ul>`,
    `<p>As of <time datetime="${latest}">${latest.replace("T", " ").replace(/(?:\.\d+)?Z$/u, " UTC")}</time>. `,
    `<a href="/v1/status/${encodeURIComponent(tenant)}">The same as JSON</a></p>`,
  ]);
}

/** Objectives that are met where they could be read are not all met. */
function summaryOf(status: SloState, data: readonly PublicObjective[]): string {
  const isWhole = data.every(({ missing_regions: missing }) => missing.length === 0);
  if (status !== "ok" || isWhole) return summaries[status];
  return "All services are within their objectives as far as known. Data of some regions is missing.";
}

/** A page with one sentence. */
export function sentencePage(title: string, sentence: string): string {
  return pageOf(title, [`<p>${escaped(sentence)}</p>`]);
}

/** The title, with the regions if another view of the objective has the same one. */
function titleOf({ title, regions }: PublicObjective, data: readonly PublicObjective[]): string {
  const isAlone = data.filter((other) => other.title === title).length === 1;
  return isAlone ? title : `${title} (${regions.join(", ")})`;
}

/** Counts are of events, or of slices of time: shares name neither. */
function objectiveItem(objective: PublicObjective, title: string): string {
  const { status, missing_regions: missing } = objective;
  const promised = percent(objective.objective);
  const reached = objective.sli === undefined ? "" : `${percent(objective.sli)} good. `;
  return [
    `<li class="${status}"><h2>${escaped(title)}</h2>`,
    `<p class="state">${words[status]}</p>`,
    `<p>${reached}The objective is ${promised} ${windowText(objective)}.</p>`,
    budget(objective.budget_remaining),
    ...(objective.corrections ?? []).map(correction),
    uncorrected(objective),
    missing.length === 0 ? "" : `<p>Data of ${escaped(missing.join(", "))} is missing.</p>`,
    "</li>",
  ].join("");
}

function windowText({ window_days: days, calendar }: PublicObjective): string {
  if (calendar === undefined) return `over ${days} ${days === 1 ? "day" : "days"}`;
  return `in each ${escaped(formatCalendar(calendar.period, calendar.time_zone))}`;
}

function budget(remaining: number | undefined): string {
  if (remaining === undefined) return "";
  const left = remaining <= 0 ? "The error budget is spent." : `${percent(remaining)} of the error budget is left.`;
  const shown = Math.min(1, Math.max(0, remaining));
  return `<p><meter min="0" max="1" low="0.1" optimum="1" value="${shown}" aria-hidden="true"></meter>${left}</p>`;
}

/** Names what does not count, so that nobody takes the corrected figures for all events. */
function correction({ reason, active, seconds, from, to }: Corrections[number]): string {
  const until = (at: string): string => `<time datetime="${at}">${at.slice(0, 16).replace("T", " ")} UTC</time>`;
  const when = active ? `In progress until ${until(to)}` : `Last from ${until(from)} to ${until(to)}`;
  return `<p>Not counted: ${escaped(reason)}, ${minutes(seconds)} of this time. ${when}.</p>`;
}

function uncorrected({ uncorrected: all }: PublicObjective): string {
  if (all?.sli === undefined) return "";
  const left = all.budget_remaining === undefined ? "" : `, ${percent(all.budget_remaining)} of the error budget left`;
  return `<p>With this time counted: ${percent(all.sli)} good${left}.</p>`;
}

function minutes(seconds: number): string {
  const [hours, rest] = [Math.floor(seconds / 3_600), Math.ceil((seconds % 3_600) / 60)];
  return [...(hours > 0 ? [`${hours} h`] : []), ...(rest > 0 || hours === 0 ? [`${rest} min`] : [])].join(" ");
}

/** At most three decimals, rounded down: 99.9996 % is never shown as 100 %. */
function percent(share: number): string {
  const thousandths = Math.floor(share * 100_000 + 1e-6);
  return `${thousandths / 1_000} %`;
}

function pageOf(title: string, content: readonly string[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title><style>${style}</style></head>`,
    `<body><main><h1>${escaped(title)}</h1>${content.join("")}</main></body></html>`,
  ].join("");
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/gu, (char) => `&#${char.charCodeAt(0)};`);
}
