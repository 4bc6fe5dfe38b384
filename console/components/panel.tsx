import type { ComponentChildren, JSX } from "preact";

interface PanelProps {
  readonly title: string;
  /** @default true */
  readonly isOpen?: boolean;
  readonly children: ComponentChildren;
}

/** A part of a side column that can be collapsed. */
export function Panel({ title, isOpen = true, children }: PanelProps): JSX.Element {
  return (
    <details class="panel" open={isOpen}>
      <summary>
        <h2>{title}</h2>
      </summary>
      <div class="panel-body">{children}</div>
    </details>
  );
}
