import type { JSX } from "preact";
import { Link, useQueryState } from "../router/router.tsx";

interface PagerProps {
  /** `meta.cursor` of the page; null at the end. */
  readonly cursor: string | null;
  /** The parameter of the address that holds it. @default "cursor" */
  readonly name?: string;
}

/** Goes through a list by its cursors. The way back is the browser's. */
export function Pager({ cursor, name = "cursor" }: PagerProps): JSX.Element | null {
  const state = useQueryState();
  const isFirst = state.get(name) === "";
  if (isFirst && cursor === null) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {isFirst ? null : <Link to={state.to({ [name]: null })}>First page</Link>}
      {cursor === null ? <span>End of the list</span> : <Link to={state.to({ [name]: cursor })}>Next page</Link>}
    </nav>
  );
}
