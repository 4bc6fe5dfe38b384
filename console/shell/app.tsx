// The frame around the pages: sign-in or session, header, navigation. It reads nothing but the rights of the token.
import type { Me } from "../../api/documents.ts";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ApiClient, createApiClient } from "../api/client.ts";
import { SessionContext } from "../api/session-context.ts";
import { pages } from "../pages.ts";
import { Announcer } from "../components/announcer.tsx";
import { PreferencesProvider } from "../components/preferences.tsx";
import { RouterProvider } from "../router/router.tsx";
import type { Session } from "../sign-in/session.ts";
import { leaveEverywhere, tellTabs, useSessionEnd, useTabMessages } from "../sign-in/use-session-end.ts";
import { SignInPage } from "../sign-in/sign-in-page.tsx";
import { openWithToken, type SignedOut, type Start, storedStart, takeFragmentToken } from "../sign-in/start-session.ts";
import { Frame } from "./frame.tsx";
import { Outlet } from "./outlet.tsx";
import { isAbort } from "../api/problem.ts";

/** The console from its start: sign-in, then the pages. */
export function App({ start }: { readonly start: Start }): JSX.Element {
  const [current, setCurrent] = useState<{ readonly start: Start; readonly hasLeft: boolean }>({
    start,
    hasLeft: false,
  });
  const [rejected, setRejected] = useState<string | undefined>(undefined);
  const signIn = current.start.kind === "signed-in" ? current.start.again : current.start;
  const again = rejected === undefined || signIn.kind === "issuer" ? signIn : { ...signIn, rejected };
  const session = current.start.kind === "signed-in" ? current.start.session : undefined;
  const useToken = (token: string): void => {
    setRejected(undefined);
    void openWithToken(token, 0).then((opened) => {
      if ("rejected" in opened) {
        setRejected(opened.rejected);
        return;
      }
      setCurrent({ start: { kind: "signed-in", ...opened, again: withoutRejection(signIn) }, hasLeft: false });
      if (opened.session.id !== undefined) tellTabs("entered");
    });
  };
  const leave = (): void => {
    setRejected(undefined);
    setCurrent({ start: withoutRejection(signIn), hasLeft: true });
  };
  useNewToken(again, useToken);
  useTabMessages((message) => {
    // A session in the memory of this tab belongs to it alone.
    if (session !== undefined && session.id === undefined) return;
    if (message === "left") {
      session?.forget();
      leave();
      return;
    }
    void storedStart(again).then((stored) => {
      if (stored.kind !== "signed-in" || stored.session.id === session?.id) return;
      session?.forget();
      setCurrent({ start: stored, hasLeft: false });
    });
  });
  useEffect(() => {
    if (session?.id !== undefined) tellTabs("entered");
  }, []);
  return (
    <PreferencesProvider>
      <Announcer>
        <RouterProvider>
          {current.start.kind === "signed-in" ? (
            <SignedIn
              key={sessionKey(current.start.session)}
              session={current.start.session}
              again={again}
              rejected={rejected}
              onToken={useToken}
              onLeave={leave}
            />
          ) : (
            <SignInPage state={again} hasLeft={current.hasLeft} onToken={useToken} />
          )}
        </RouterProvider>
      </Announcer>
    </PreferencesProvider>
  );
}

function withoutRejection(signIn: SignedOut): SignedOut {
  if (signIn.kind === "issuer") return signIn;
  const { rejected: _rejected, ...rest } = signIn;
  return rest;
}

/** Takes a token that is put into the address of an open page, as `heliograph open` does in a tab that is open. */
function useNewToken(again: SignedOut, onToken: (token: string) => void): void {
  const call = useRef(onToken);
  call.current = onToken;
  const isLocal = again.kind === "local";
  useEffect(() => {
    const take = (): void => {
      const token = takeFragmentToken(location, history);
      if (token !== undefined && isLocal) call.current(token);
    };
    window.addEventListener("hashchange", take);
    return () => window.removeEventListener("hashchange", take);
  }, [isLocal]);
}

const keys = new WeakMap<Session, number>();
let sessionCount = 0;

/** Another session is another tree: nothing of the one before is kept. */
function sessionKey(session: Session): number {
  const key = keys.get(session) ?? (sessionCount += 1);
  keys.set(session, key);
  return key;
}

interface SignedInProps {
  readonly session: Session;
  readonly again: SignedOut;
  /** Why the server rejected the token that was put into the address last. */
  readonly rejected: string | undefined;
  readonly onToken: (token: string) => void;
  readonly onLeave: () => void;
}

function SignedIn({ session, again, rejected, onToken, onLeave }: SignedInProps): JSX.Element {
  const [hasEnded, setEnded] = useState(false);
  const api = useMemo(() => createApiClient(session.send, () => setEnded(true)), [session]);
  const { me, isReady } = useMe(api);
  const view = useMemo(() => ({ api, me }), [api, me]);
  const leave = (): void => {
    void leaveEverywhere(session);
    onLeave();
  };
  useSessionEnd(session, () => {
    session.forget();
    onLeave();
  });
  return (
    <SessionContext.Provider value={view}>
      <Frame
        pages={pages}
        me={me}
        isReady={isReady}
        onSignOut={leave}
        onToken={onToken}
        ended={hasEnded ? again : undefined}
        rejected={rejected}
      >
        <Outlet pages={pages} isReady={isReady} />
      </Frame>
    </SessionContext.Provider>
  );
}

/** Longer than a healthy server needs. Pages that wait for more would be worse than pages that lack the rights. */
const meMsMax = 2_000;

interface KnownMe {
  /** Undefined while they are read, and if they cannot be read: each part then shows what is rejected. */
  readonly me: Me | undefined;
  /** False until the rights are known or late. A page that was shown earlier would lose parts, and move. */
  readonly isReady: boolean;
}

/** Reads the rights of the token. */
function useMe(api: ApiClient): KnownMe {
  const [known, setKnown] = useState<KnownMe>({ me: undefined, isReady: false });
  useEffect(() => {
    const abort = new AbortController();
    const late = setTimeout(() => setKnown((before) => ({ ...before, isReady: true })), meMsMax);
    api
      .read<Me>("/v1/me", abort.signal)
      .then(
        ({ body }) => setKnown({ me: body, isReady: true }),
        (error: unknown) => {
          if (!isAbort(error)) setKnown({ me: undefined, isReady: true });
        },
      )
      .finally(() => clearTimeout(late));
    return () => {
      clearTimeout(late);
      abort.abort();
    };
  }, [api]);
  return known;
}
