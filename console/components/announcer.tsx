import { createContext, type ComponentChildren, type JSX } from "preact";
import { useCallback, useContext, useState } from "preact/hooks";

const AnnounceContext = createContext<(text: string) => void>(() => undefined);

/** Says something to screen readers: `useAnnounce()("Copied")`. */
export function useAnnounce(): (text: string) => void {
  return useContext(AnnounceContext);
}

/** Holds the one live region of the page. */
export function Announcer({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [{ text, turn }, setSaid] = useState({ text: "", turn: 0 });
  const announce = useCallback((next: string) => setSaid((before) => ({ text: next, turn: before.turn + 1 })), []);
  return (
    <AnnounceContext.Provider value={announce}>
      {children}
      <div class="hidden" role="status" aria-live="polite">
        {/* A new element, so that the same text is read again. */}
        <span key={turn}>{text}</span>
      </div>
    </AnnounceContext.Provider>
  );
}
