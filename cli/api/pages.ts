import type { ApiConnection } from "./connection.ts";
import { CommandError } from "../command-line/command-error.ts";
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
/** Most pages in a row without an item: a server that searches may need some. */
const emptyPagesMax = 1_000;

/**
 * Reads a list page by page, only as fast as the pages are used.
 * @throws CommandError `unreachable` when the server's pages are no list of this API, or lead nowhere
 */
export async function* pagesOf<Item>(
  connection: ApiConnection,
  { path, query }: Pick<ApiRequest, "path" | "query">,
  { limit, onMore, onIncomplete, signal }: ListOptions,
): AsyncGenerator<readonly Item[]> {
  let cursor: string | null | undefined;
  let left = limit;
  let isComplete = true;
  const requireProgress = progressOf(connection);
  while (left > 0 && cursor !== null) {
    const asked = { path, query: { ...query, cursor, limit: Math.min(left, pageItemsMax) } };
    const request = signal === undefined ? asked : { ...asked, signal };
    const page = listOf<Item>(connection, await sendForJson<unknown>(connection, request));
    requireProgress(page);
    yield page.data.slice(0, left);
    left -= page.data.length;
    isComplete &&= page.meta.complete !== false;
    cursor = page.meta.cursor;
  }
  if (cursor !== null) onMore?.();
  if (!isComplete) onIncomplete?.();
}

/** Checks each page of one list. @throws CommandError `unreachable` when the list does not end */
function progressOf({ url }: ApiConnection): (page: Page<unknown>) => void {
  let last: string | null = null;
  let emptyPages = 0;
  return ({ data, meta: { cursor } }) => {
    emptyPages = data.length === 0 ? emptyPages + 1 : 0;
    if (cursor !== null && (cursor === last || emptyPages > emptyPagesMax))
      throw new CommandError("unreachable", `the list of ${url} does not end: its pages repeat or are empty`);
    last = cursor;
  };
}

/** @throws CommandError `unreachable` */
function listOf<Item>({ url }: ApiConnection, page: unknown): Page<Item> {
  const { data, meta } = (page ?? {}) as Partial<Page<Item>>;
  const cursor: unknown = meta?.cursor;
  if (Array.isArray(data) && meta !== undefined && (cursor === null || typeof cursor === "string"))
    return { data, meta };
  throw new CommandError("unreachable", `${url} sent no list of this API; the URL may be that of another program`);
}
