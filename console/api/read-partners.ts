import type { PartnerSummary } from "../../api/partners.ts";
import type { ApiClient } from "./client.ts";
import type { ListPage } from "./types.ts";

/** Most items that the server returns in a page. */
export const partnerPageItems = 200;
/** Pages that are read: the first 1,000 partners. A search finds the others. */
export const partnerPagesMax = 5;

/** The first 1,000 partners that the token may see, by name. `isComplete` is false if there are more. */
export async function readPartners(
  api: ApiClient,
  signal: AbortSignal,
): Promise<{ readonly all: readonly PartnerSummary[]; readonly isComplete: boolean }> {
  const all: PartnerSummary[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < partnerPagesMax; page += 1) {
    const at: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await api.read<ListPage<PartnerSummary>>(
      `/webhooks/partners?limit=${partnerPageItems}${at}`,
      signal,
    );
    all.push(...body.data);
    cursor = body.meta.cursor;
    if (cursor === null) return { all, isComplete: true };
  }
  return { all, isComplete: false };
}

/** The first partners, by name, whose name contains each word of the text. @param limit at most 200 */
export async function findPartners(
  api: ApiClient,
  text: string,
  limit: number,
  signal: AbortSignal,
): Promise<readonly PartnerSummary[]> {
  const query = new URLSearchParams({ ...(text === "" ? {} : { search: text }), limit: String(limit) });
  return (await api.read<ListPage<PartnerSummary>>(`/webhooks/partners?${query.toString()}`, signal)).body.data;
}
