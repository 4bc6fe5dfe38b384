import type { ComponentChildren, JSX, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

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

const attribute = "data-closes";

/**
 * Closes a panel by Escape, unless the focus is in another such panel or a dialog is open.
 *
 * @param isActive false while the panel is closed or has to stay. @default true
 * @returns the reference of the panel
 */
export function useEscape<Panel extends HTMLElement>(onClose: () => void, isActive = true): RefObject<Panel | null> {
  const panel = useRef<Panel>(null);
  const call = useRef(onClose);
  call.current = onClose;
  useLayoutEffect(() => {
    const own = panel.current;
    if (!isActive || own === null) return undefined;
    own.setAttribute(attribute, "");
    const close = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const focused = document.activeElement?.closest(`[${attribute}]`) ?? null;
      if (focused !== null && focused !== own) return;
      event.preventDefault();
      call.current();
    };
    document.addEventListener("keydown", close);
    return () => {
      own.removeAttribute(attribute);
      document.removeEventListener("keydown", close);
    };
  }, [isActive]);
  return panel;
}
