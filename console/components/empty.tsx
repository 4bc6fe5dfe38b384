import type { ComponentChildren, JSX } from "preact";

interface EmptyProps {
  /** What there is none of: `No dead letters`. */
  readonly title: string;
  /** Why: `Nothing ended without a delivery in this window.` */
  readonly why: ComponentChildren;
  /** What to do next: a sentence or a link. */
  readonly next?: ComponentChildren;
}

/** Says that there is nothing, why, and what to do next. */
export function Empty({ title, why, next }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <p>{why}</p>
      {next === undefined ? null : <p>{next}</p>}
    </div>
  );
}
