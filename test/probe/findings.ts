import type { ProbeResponse } from "./responses.ts";
import type { Timeline } from "./timeline.ts";

/** What is wrong, in words. */
export interface Findings {
  /** @param response that the faults are of, if they are of one */
  add(kind: string, faults: readonly string[], response?: ProbeResponse): void;
  count(): number;
  /** How many there are of each sort: of their words without numbers. */
  readonly sorts: Readonly<Record<string, number>>;
  /** The first of each sort, with the circumstances of its response. */
  readonly wrong: readonly string[];
}

const shownMax = 20;
const shownOfSortMax = 2;
const faultsShownMax = 3;
const recentMs = 20_000;
const shownHeaders = /^(x-(data|query|partial|correlation)|cache-control|etag|server-timing)/u;

/** None yet. */
export function createFindings(timeline: Timeline): Findings {
  const sorts: Record<string, number> = {};
  const wrong: string[] = [];
  let count = 0;
  return {
    sorts,
    wrong,
    count: () => count,
    add(kind, faults, response) {
      const [first] = faults;
      if (first === undefined) return;
      count += faults.length;
      const sort = `${kind} ${first.replaceAll(/[\d:."-]+|\{.*/gu, "").slice(0, 60)}`;
      sorts[sort] = (sorts[sort] ?? 0) + 1;
      if (wrong.length >= shownMax || sorts[sort] > shownOfSortMax) return;
      const about = response === undefined ? "" : circumstances(response, timeline);
      wrong.push(`${kind}: ${faults.slice(0, faultsShownMax).join("; ")} ${about}`);
    },
  };
}

function circumstances(
  { panel, route, pod, status, headers, sentMs, receivedMs }: ProbeResponse,
  timeline: Timeline,
): string {
  const reported = Object.fromEntries(Object.entries(headers).filter(([name]) => shownHeaders.test(name)));
  const recent = timeline.within(sentMs - recentMs, receivedMs);
  const at = new Date(sentMs).toISOString();
  return JSON.stringify({ at, tookMs: receivedMs - sentMs, route, pod, status, panel, headers: reported, recent });
}
