import { useEffect, useState } from "preact/hooks";
import type { PageAddress } from "../router/place.ts";
import { itemOfPage, withRecent, type SearchItem } from "./search-items.ts";

/** The items that this tab opened last, the newest first. They are gone with the session. */
export function useRecent({ path, query }: PageAddress): readonly SearchItem[] {
  const [recent, setRecent] = useState<readonly SearchItem[]>([]);
  useEffect(() => {
    const item = itemOfPage(path, query);
    if (item !== undefined) setRecent((before) => withRecent(before, item));
  }, [path, query]);
  return recent;
}
