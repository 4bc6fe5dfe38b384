import type { KubeClient, ListOptions } from "../client/client.ts";
import { KubeError, isKubeError } from "../client/kube-error.ts";
import type { KubeList, KubeObject, ResourceType } from "../client/resource.ts";

/** Bound on pages, for a server that always names a next page. */
const pagesMax = 2_000;

/**
 * Reads the whole list page by page, all pages of one state. When the pages expire meanwhile, it reads the list again
 * in one page.
 *
 * @throws KubeError
 */
export async function listAll<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  options: ListOptions & { readonly limit: number },
): Promise<KubeList<T>> {
  const items: T[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    try {
      const page = await client.list<T>(type, { ...options, ...(next === undefined ? {} : { continue: next }) });
      items.push(...page.items);
      next = page.continue;
      if (next === undefined) return { items, resourceVersion: page.resourceVersion };
    } catch (error) {
      if (next === undefined || !isKubeError(error, "gone")) throw error;
      const { limit: _limit, ...inOnePiece } = options;
      return await client.list<T>(type, inOnePiece);
    }
  }
  throw new KubeError("invalid", `list ${type.plural}: more than ${pagesMax} pages`);
}
