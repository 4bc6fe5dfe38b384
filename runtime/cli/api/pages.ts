import type { ApiConnection } from "./connection.ts";
import { sendForJson, type ApiRequest } from "./request.ts";

/** One page of a list of the API. */
interface Page<Item> {
  readonly data: readonly Item[];
  readonly meta: { readonly cursor: string | null; readonly complete?: boolean };
}

interface ListOptions {
  /** Most items of all pages together. */
  readonly limit: number;
  /** Called when the list has more items than the limit. */
  readonly onMore?: () => void;
  /** Called once after the list when the server says that it left items out. */
  readonly onIncomplete?: () => void;
  readonly signal?: AbortSignal;
}

/** Most items that the API puts into a page. */
const pageItemsMax = 200;

/** Reads a list page by page, only as fast as the pages are used. */
export async function* pagesOf<Item>(
  connection: ApiConnection,
  { path, query }: Pick<ApiRequest, "path" | "query">,
  { limit, onMore, onIncomplete, signal }: ListOptions,
): AsyncGenerator<readonly Item[]> {
  let cursor: string | undefined;
  let left = limit;
  let isComplete = true;
  while (left > 0) {
    const asked = { path, query: { ...query, cursor, limit: Math.min(left, pageItemsMax) } };
    const request = signal === undefined ? asked : { ...asked, signal };
    const { data, meta } = await sendForJson<Page<Item>>(connection, request);
    yield data.slice(0, left);
    left -= data.length;
    isComplete &&= meta.complete !== false;
    if (meta.cursor === null) {
      if (!isComplete) onIncomplete?.();
      return;
    }
    cursor = meta.cursor;
  }
  onMore?.();
  if (!isComplete) onIncomplete?.();
}
