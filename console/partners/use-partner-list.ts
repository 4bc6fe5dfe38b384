import type { PartnerSummary } from "../../api/partners.ts";
import { useMemo } from "preact/hooks";
import { partnerPageItems } from "../api/read-partners.ts";
import type { ListPage } from "../api/types.ts";
import { useRead, type ReadState } from "../api/use-read.ts";
import { changedQuery } from "../router/place.ts";

const everySeconds = 30;

/** Partners of a search, up to 1,000. */
export interface PartnerRows {
  readonly all: readonly PartnerSummary[];
  /** False if there are more. */
  readonly isComplete: boolean;
}

/** Reads the partners whose names contain a text, in pages; each page follows the one before. */
export function usePartnerList(search: string): ReadState<PartnerRows> {
  const first = usePage(search, null);
  const second = usePage(search, nextOf(first));
  const third = usePage(search, nextOf(second));
  const fourth = usePage(search, nextOf(third));
  const fifth = usePage(search, nextOf(fourth));
  const reads = [first, second, third, fourth, fifth];
  const pages = reads.map(({ data }) => data);
  const data = useMemo(() => rowsOf(pages), pages);
  return {
    ...first,
    data,
    problem: reads.find(({ problem }) => problem !== undefined)?.problem,
    isReading: reads.some(({ isReading }) => isReading),
    refresh: () => {
      for (const read of reads) read.refresh();
    },
  };
}

type Page = ListPage<PartnerSummary>;

/** @param cursor null for the first page; undefined reads nothing */
function usePage(search: string, cursor: string | null | undefined): ReadState<Page> {
  const query = changedQuery(new URLSearchParams({ limit: String(partnerPageItems) }), {
    search,
    cursor: cursor ?? null,
  });
  return useRead<Page>(cursor === undefined ? undefined : `/webhooks/partners${query}`, { everySeconds });
}

function nextOf({ data }: ReadState<Page>): string | undefined {
  return data?.meta.cursor ?? undefined;
}

function rowsOf(pages: readonly (Page | undefined)[]): PartnerRows | undefined {
  const read = pages.filter((page) => page !== undefined);
  if (read.length === 0) return undefined;
  return { all: read.flatMap(({ data }) => data), isComplete: (read.at(-1)?.meta.cursor ?? null) === null };
}
