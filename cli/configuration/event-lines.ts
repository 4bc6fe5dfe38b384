import type { PreviewedEvents, PreviewedResources } from "../../api/previews.ts";
import type { MatchEffect } from "../../runtime/preview/preview-job.ts";
import type { Table } from "./reader-lines.ts";

type Partner = MatchEffect["partners"][number];

const idsShown = 3;

/** The effect on recorded events: sentences, and tables of types, partners and attempts. */
export function eventLines(events: MatchEffect, table: Table): readonly string[] {
  const { read, deliveries, unrouted, partners } = events;
  const sum =
    `${read} recorded events: ${deliveries.before} → ${deliveries.after} deliveries, ` +
    `${unrouted.before} → ${unrouted.after} events without a partner.`;
  const routed =
    partners.length === 0 ? ["No partner gains or loses an event."] : ["", ...partnerTable(partners, table)];
  const lines = [sum, ...rejectedLines(events, table), ...routed];
  return "attempts" in events ? [...lines, ...attemptLines(events as PreviewedEvents, table)] : lines;
}

const payloadTitles = ["Partner", "Type", "Newly gets", "No longer gets"];
const payloadAlign = ["---", "---", "---", "---"];

/** The sensitive fields that partners get or no longer get. Servers of earlier versions do not compare them. */
export function payloadLines({ payloads = [] }: PreviewedResources, table: Table): readonly string[] {
  if (payloads.length === 0) return [];
  const rows = payloads.map(({ partner, type, visible, hidden }) => {
    return [partner, type, visible.join(" "), hidden.join(" ")];
  });
  return ["", "Sensitive fields that partners get:", "", ...table(payloadTitles, payloadAlign, rows)];
}

const typeTitles = ["Type", "Version", "Error", "Events", "First events"];
const typeAlign = ["---", "---", "---", "---:", "---"];

/** The events that event catalogs would reject. */
function rejectedLines(events: MatchEffect, table: Table): readonly string[] {
  // Two folders, and a server of an earlier version, do not judge events.
  const { rejected } = events as Partial<PreviewedEvents>;
  if (rejected === undefined || rejected.count + rejected.accepted === 0) return [];
  const sum = `${rejected.count} of them would be rejected at ingest, and ${rejected.accepted} no longer.`;
  const rows = rejected.types.map(({ type, version, code: error, count, ids }) => {
    return [type, version, error, String(count), ids.slice(0, idsShown).join(" ")];
  });
  return rows.length === 0 ? [sum] : [sum, "", ...table(typeTitles, typeAlign, rows)];
}

const attemptTitles = ["Partner", "As recorded", "At other times", "Gone", "Tried again", "Ended before"];
const attemptAlign = ["---", "---:", "---:", "---:", "---:", "---:"];

/** Attempts up to the first instant that the edit moves. */
function attemptLines({ attempts }: PreviewedEvents, table: Table): readonly string[] {
  const { events, skipped, partners } = attempts;
  if (partners.length === 0) return [];
  const rows = partners.map(({ partner, exact, moved, gone, would_retry: again, would_end: ended }) => {
    return [partner, ...[exact, moved, gone, again, ended].map(String)];
  });
  const lines = table(attemptTitles, attemptAlign, rows);
  return ["", `Recorded attempts for ${events} of ${events + skipped} affected events:`, "", ...lines];
}

const routeTitles = ["Partner", "Before", "After", "Gains", "Loses", "First events"];
const routeAlign = ["---", "---:", "---:", "---:", "---:", "---"];

/** Columns about contracts are added if a partner has figures in them. */
function partnerTable(partners: readonly Partner[], table: Table): readonly string[] {
  const figures = partners.map(({ rejected = 0, changed = 0 }: Partial<PreviewedEvents["partners"][number]>) => [
    rejected,
    changed,
  ]);
  const hasFigures = figures.flat().some((figure) => figure > 0);
  const more = (texts: readonly string[]): readonly string[] => (hasFigures ? texts : []);
  const titles = [...routeTitles, ...more(["Rejected", "Other payload"])];
  const align = [...routeAlign, ...more(["---:", "---:"])];
  const rows = partners.map((partner, row) => [...cellsOf(partner), ...more((figures[row] ?? []).map(String))]);
  return table(titles, align, rows);
}

function cellsOf({ partner, before, after, gained, lost, gained_ids: more, lost_ids: less }: Partner): string[] {
  const ids = [...more.slice(0, idsShown).map((id) => `+${id}`), ...less.slice(0, idsShown).map((id) => `-${id}`)];
  return [partner, String(before), String(after), String(gained), String(lost), ids.join(" ")];
}
