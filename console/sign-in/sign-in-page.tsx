import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CodeBlock } from "../parts/copy-button.tsx";
import type { SignedOut } from "./start-session.ts";

interface SignInPageProps {
  readonly state: SignedOut;
  /** True after signing out: the issuer is not asked again by itself. */
  readonly hasLeft: boolean;
}

/** The page of a reader without a session. */
export function SignInPage({ state, hasLeft }: SignInPageProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const goesAlone = state.kind === "issuer" && state.reason === undefined && !hasLeft;
  useEffect(() => {
    document.title = "Sign in · Heliograph";
    if (hasLeft) heading.current?.focus();
  }, [hasLeft]);
  return (
    <main id="main" class="sign-in">
      <h1 ref={heading} tabIndex={-1}>
        {hasLeft ? "You are signed out" : "Sign in"}
      </h1>
      <Way state={state} goesAlone={goesAlone} />
    </main>
  );
}

/** A notice above a page whose token the server refuses now. The page stays. */
export function SignInAgain({ state }: { readonly state: SignedOut }): JSX.Element {
  return (
    <div class="notice warn" role="alert">
      <p class="notice-title">The server no longer accepts your token</p>
      <Way state={state} goesAlone={false} />
    </div>
  );
}

function Way({ state, goesAlone }: { readonly state: SignedOut; readonly goesAlone: boolean }): JSX.Element {
  if (state.kind === "issuer") return <IssuerWay {...state} goesAlone={goesAlone} />;
  if (state.kind === "local") {
    return (
      <>
        <p>This program runs on your machine. A command makes a token and opens the console with it:</p>
        <CodeBlock text="heliograph open" what="the command" />
      </>
    );
  }
  return (
    <p>
      This installation names no issuer for the console. An operator sets <code>console.issuer</code> and{" "}
      <code>console.clientId</code> in its settings.
    </p>
  );
}

interface IssuerWayProps {
  readonly reason?: string;
  readonly signIn: (returnTo: string) => Promise<void>;
  readonly goesAlone: boolean;
}

function IssuerWay({ reason, signIn, goesAlone }: IssuerWayProps): JSX.Element {
  const [problem, setProblem] = useState(reason);
  const [isGoing, setGoing] = useState(goesAlone);
  const go = (): void => {
    setGoing(true);
    setProblem(undefined);
    signIn(location.pathname + location.search).catch((error: unknown) => {
      setGoing(false);
      setProblem(`The issuer cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
    });
  };
  const hasGone = useRef(false);
  useEffect(() => {
    if (!goesAlone || hasGone.current) return;
    hasGone.current = true;
    go();
  });
  return (
    <>
      {problem === undefined ? null : <p role="alert">{problem}</p>}
      <button type="button" class="primary" disabled={isGoing} onClick={go}>
        {isGoing ? "Going to the issuer" : "Sign in at the issuer"}
      </button>
    </>
  );
}
