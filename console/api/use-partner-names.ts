import { useEffect, useState } from "preact/hooks";
import { findPartners } from "./read-partners.ts";
import { useSession } from "./session-context.ts";

const debounceMs = 150;
const namesMax = 20;

/** The first partners whose names contain a text that is typed. A failed read offers none, and fields work without. */
export function usePartnerNames(text: string): readonly string[] {
  const { api } = useSession();
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      findPartners(api, text.trim(), namesMax, abort.signal).then(
        (found) => abort.signal.aborted || setNames(found.map(({ partner }) => partner)),
        () => undefined,
      );
    }, debounceMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [api, text]);
  return names;
}
