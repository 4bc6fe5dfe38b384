import type { ProbeResponse, ResponseBody, ResponseSeries } from "./responses.ts";

/** Series of one page. */
const pageSeries = 2;
const pagesMax = 25;

/** What asks for one page of a query: `snapshot` and the window of the first one. */
type AskPage = (
  pairs: readonly (readonly [name: string, value: string])[],
) => Promise<(ProbeResponse & { readonly meta: PageMeta | undefined }) | undefined>;

/** What a page says of the others. */
export interface PageMeta {
  readonly snapshot: string;
  readonly has_more: boolean;
  readonly total_series: number;
  readonly from: string;
  readonly to: string;
}

/** What came of asking for all pages. */
export interface Pages {
  /** All series, with what the first page said; undefined where the data was gone before the last one. */
  readonly whole: ProbeResponse | undefined;
  readonly faults: readonly string[];
  /** Whether a page was refused, since its snapshot was gone. */
  readonly isGone: boolean;
}

/** Asks for all pages of one snapshot. */
export async function askPages(ask: AskPage): Promise<Pages> {
  const first = await ask([["limit", String(pageSeries)]]);
  return first?.body === undefined || first.meta === undefined
    ? { whole: first, faults: [], isGone: false }
    : askOthers(ask, first, first.body, first.meta);
}

async function askOthers(ask: AskPage, first: ProbeResponse, body: ResponseBody, meta: PageMeta): Promise<Pages> {
  const pages = [body.series];
  for (let hasMore = meta.has_more; hasMore && pages.length < pagesMax;) {
    const next = await ask(pairsOf(pages.length + 1, meta));
    if (next?.body === undefined)
      return { whole: undefined, faults: refusalFaults(next), isGone: next?.status === 409 };
    pages.push(next.body.series);
    hasMore = next.meta?.has_more ?? false;
  }
  const series = pages.flat();
  return {
    whole: { ...first, body: { ...body, series } },
    faults: countFaults(series, meta.total_series),
    isGone: false,
  };
}

function pairsOf(page: number, { snapshot, from, to }: PageMeta): readonly (readonly [string, string])[] {
  return [
    ["limit", String(pageSeries)],
    ["page", String(page)],
    ["snapshot", snapshot],
    ["from", from],
    ["to", to],
  ];
}

/** A snapshot may be gone, and its stores away. */
const refusals = [409, 502, 504];

function refusalFaults(response: ProbeResponse | undefined): readonly string[] {
  return response === undefined || refusals.includes(response.status) ? [] : [`a page was answered ${response.status}`];
}

function countFaults(series: readonly ResponseSeries[], total: number): readonly string[] {
  const different = new Set(series.map(({ metric, labels }) => JSON.stringify([metric, labels]))).size;
  return series.length === total && different === total
    ? []
    : [`the pages have ${series.length} series, ${different} of them different, and say ${total}`];
}
