import type { PartnerSummary } from "../../api/partners.ts";
import type { ApiClient } from "./client.ts";
import type { ListPage } from "./types.ts";

const pageItemsMax = 200;
const pagesMax = 5;

/** The first 1,000 partners that the token may see, by name. `isComplete` is false if there are more. */
export async function readPartners(
  api: ApiClient,
  signal: AbortSignal,
): Promise<{ readonly all: readonly PartnerSummary[]; readonly isComplete: boolean }> {
  const all: PartnerSummary[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    const at: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await api.read<ListPage<PartnerSummary>>(`/webhooks/partners?limit=${pageItemsMax}${at}`, signal);
    all.push(...body.data);
    cursor = body.meta.cursor;
    if (cursor === null) return { all, isComplete: true };
  }
  return { all, isComplete: false };
}
