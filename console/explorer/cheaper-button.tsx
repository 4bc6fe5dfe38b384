import type { CheaperQuery } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { useQueryState } from "../router/router.tsx";
import { cheaperChange, cheaperWords } from "./explorer-query.ts";

/** Runs the cheaper query that the server suggests. */
export function CheaperButton({ suggestion }: { readonly suggestion: CheaperQuery }): JSX.Element | null {
  const state = useQueryState();
  const change = cheaperChange(suggestion);
  if (Object.keys(change).length === 0) return null;
  return (
    <button type="button" class="primary" onClick={() => state.set({ ...change, page: null, run: null })}>
      Run with {cheaperWords(suggestion)}
    </button>
  );
}
