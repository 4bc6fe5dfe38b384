import type { CheaperQuery } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { useQueryState } from "../router/router.tsx";
import { cheaperChange, cheaperWords } from "./asked-query.ts";

/** Asks the cheaper query that the server names, and runs it. */
export function CheaperButton({ suggestion }: { readonly suggestion: CheaperQuery }): JSX.Element | null {
  const state = useQueryState();
  const change = cheaperChange(suggestion);
  if (Object.keys(change).length === 0) return null;
  return (
    <button type="button" class="primary" onClick={() => state.set({ ...change, page: null, run: "1" })}>
      Ask with {cheaperWords(suggestion)} instead
    </button>
  );
}
