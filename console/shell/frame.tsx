import type { Me } from "../../api/documents.ts";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { mayUse } from "../api/session-context.ts";
import type { PageEntry } from "../page-entry.ts";
import { PreferenceSwitches } from "../components/preferences.tsx";
import { useEscape } from "../components/panel.tsx";
import { matchPath } from "../router/place.ts";
import { Link, useRouter } from "../router/router.tsx";
import { Search } from "../search/search.tsx";
import { SignInAgain } from "../sign-in/sign-in-page.tsx";
import type { SignedOut } from "../sign-in/start-session.ts";

interface FrameProps {
  readonly pages: readonly PageEntry[];
  readonly me: Me | undefined;
  /** False while the rights are read: what depends on them is not shown yet, so that it never moves. */
  readonly isReady: boolean;
  readonly onSignOut: () => void;
  readonly onToken: (token: string) => void;
  /** Set once the server rejected the token: what is shown stays. */
  readonly ended: SignedOut | undefined;
  /** Why another token was rejected while this session lasts. */
  readonly rejected: string | undefined;
  readonly children: ComponentChildren;
}

/** Header, navigation and the place of the page. */
export function Frame({ pages, me, isReady, onSignOut, onToken, ended, rejected, children }: FrameProps): JSX.Element {
  const { place } = useRouter();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [place.path]);
  const button = useRef<HTMLButtonElement>(null);
  const menu = useEscape<HTMLElement>(() => {
    setOpen(false);
    button.current?.focus();
  }, isOpen);
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to content
      </a>
      <header class="top">
        <Link to="/" class="brand">
          Heliograph
        </Link>
        <button
          ref={button}
          type="button"
          class="small menu-button"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
        <Search />
        <div class="top-end">
          <span class="who" title={me === undefined ? "" : `Tenants: ${me.tenants.join(", ")}`}>
            {me === undefined ? "" : me.is_console_admin ? `${me.client}, administrator` : me.client}
          </span>
          <PreferenceSwitches />
          <button type="button" class="small" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </header>
      <nav ref={menu} id="navigation" class={isOpen ? "side open" : "side"} aria-label="Pages of the console">
        {isReady ? <ul class="plain">{pages.map((page) => navigationItem(page, pages, me, place.path))}</ul> : null}
      </nav>
      <main id="main" tabIndex={-1}>
        {ended === undefined ? null : <SignInAgain state={ended} onToken={onToken} />}
        {ended !== undefined || rejected === undefined ? null : (
          <p class="notice bad" role="alert">
            The server rejected the token of the address, and this session continues: {rejected}
          </p>
        )}
        {children}
      </main>
    </>
  );
}

function navigationItem(
  { path, label, scopes }: PageEntry,
  pages: readonly PageEntry[],
  me: Me | undefined,
  at: string,
): JSX.Element | null {
  if (label === undefined || !mayUse(me, scopes)) return null;
  const shown = pages.find((page) => matchPath(page.path, at) !== undefined);
  const isHere = shown !== undefined && (shown.below ?? shown.path) === path;
  return (
    <li key={path}>
      <Link to={path} isCurrent={isHere}>
        {label}
      </Link>
    </li>
  );
}

/** The fragment of the address stays free: it may hold a token only. */
function skipToMain(event: MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}
