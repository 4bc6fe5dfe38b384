import { createContext, type ComponentChildren, type JSX } from "preact";
import { useCallback, useContext, useEffect, useMemo, useState } from "preact/hooks";
import { addressOf, changedQuery, placeOf, type PageAddress, type QueryChange } from "./place.ts";

/** The place of the console and the way to another one. */
export interface Router {
  readonly place: PageAddress;
  /** How often the path changed since the page was loaded; 0 for the first place. */
  readonly visits: number;
  /** Goes to a path below the base, such as `/events?state=dead`. @param replace instead of a new entry of history */
  readonly go: (to: string, replace?: boolean) => void;
}

const RouterContext = createContext<Router | undefined>(undefined);

/** The router of the surrounding {@link RouterProvider}. */
export function useRouter(): Router {
  const router = useContext(RouterContext);
  if (router === undefined) throw new Error("a part stands outside of the router");
  return router;
}

/** Follows the address by the History API. */
export function RouterProvider({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [{ place, visits }, setState] = useState(() => ({ place: placeOf(location), visits: 0 }));
  const follow = useCallback((): void => {
    const next = placeOf(location);
    setState((before) => ({ place: next, visits: before.visits + (next.path === before.place.path ? 0 : 1) }));
  }, []);
  useEffect(() => {
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, [follow]);
  const go = useCallback(
    (to: string, replace = false): void => {
      if (replace) history.replaceState(null, "", addressOf(to));
      else history.pushState(null, "", addressOf(to));
      follow();
    },
    [follow],
  );
  const router = useMemo(() => ({ place, visits, go }), [place, visits, go]);
  return <RouterContext.Provider value={router}>{children}</RouterContext.Provider>;
}

/** The parameters of the address as the state of a page. */
export interface QueryState {
  readonly query: URLSearchParams;
  /** One parameter; empty when it is absent. */
  readonly get: (name: string) => string;
  /** Changes parameters with a new entry of history. @param replace without one, for what is no step back */
  readonly set: (change: QueryChange, replace?: boolean) => void;
  /** The path of this page with changed parameters, for a link. */
  readonly to: (change: QueryChange) => string;
}

/** Reads and changes the state of a page, which is its address. */
export function useQueryState(): QueryState {
  const { place, go } = useRouter();
  return useMemo(() => {
    const to = (change: QueryChange): string => place.path + changedQuery(place.query, change);
    return {
      query: place.query,
      get: (name) => place.query.get(name) ?? "",
      set: (change, replace) => go(to(change), replace),
      to,
    };
  }, [place, go]);
}

interface LinkProps {
  /** A path below the base, such as `/events?state=dead`. */
  readonly to: string;
  readonly class?: string;
  /** Marks the link to the page that is shown. @default false */
  readonly isCurrent?: boolean;
  /** For screen readers, where the text does not say enough. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A link inside of the console. A click with a modifier opens it in a new tab, as with every link. */
export function Link({ to, class: look, isCurrent = false, label, children }: LinkProps): JSX.Element {
  const { go } = useRouter();
  const follow = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0 || hasModifier(event)) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      href={addressOf(to)}
      onClick={follow}
      {...(look === undefined ? {} : { class: look })}
      {...(isCurrent ? { "aria-current": "page" as const } : {})}
      {...(label === undefined ? {} : { "aria-label": label })}
    >
      {children}
    </a>
  );
}

function hasModifier({ metaKey, ctrlKey, shiftKey, altKey }: MouseEvent): boolean {
  return metaKey || ctrlKey || shiftKey || altKey;
}
