import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { CodeBlock } from "../components/copy-button.tsx";
import type { SignedOut } from "./start-session.ts";

/** As the server takes it. */
const tokenLengthMax = 8_192;

interface SignInPageProps {
  readonly state: SignedOut;
  /** True after signing out: the issuer is not asked again by itself. */
  readonly hasLeft: boolean;
  readonly onToken: (token: string) => void;
}

/** The page of a reader without a session. */
export function SignInPage({ state, hasLeft, onToken }: SignInPageProps): JSX.Element {
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
      <Way state={state} goesAlone={goesAlone} onToken={onToken} />
    </main>
  );
}

/** A notice above a page whose token the server rejects now. The page stays. */
export function SignInAgain({ state, onToken }: Pick<SignInPageProps, "state" | "onToken">): JSX.Element {
  return (
    <div class="notice warn" role="alert">
      <p class="notice-title">The server no longer accepts your token</p>
      <Way state={state} goesAlone={false} onToken={onToken} />
    </div>
  );
}

interface WayProps extends Pick<SignInPageProps, "state" | "onToken"> {
  readonly goesAlone: boolean;
}

function Way({ state, goesAlone, onToken }: WayProps): JSX.Element {
  if (state.kind === "issuer") return <IssuerWay {...state} goesAlone={goesAlone} />;
  if (state.kind === "local") {
    return (
      <>
        <p>Run this command to open the console with a new token:</p>
        <CodeBlock text={state.command ?? "heliograph open"} what="the command" />
        <TokenForm rejected={state.rejected} onToken={onToken} />
      </>
    );
  }
  return (
    <>
      <p>
        No issuer is configured for the console. Set <code>console.issuer</code> and <code>console.clientId</code> in
        the settings, or sign in with a token.
      </p>
      <TokenForm rejected={state.rejected} onToken={onToken} />
    </>
  );
}

interface TokenFormProps extends Pick<SignInPageProps, "onToken"> {
  /** Why the last token was not accepted. */
  readonly rejected: string | undefined;
}

/** Takes a token from elsewhere. One that this program cannot bind to a key stays in the memory of the tab. */
function TokenForm({ rejected, onToken }: TokenFormProps): JSX.Element {
  const [token, setToken] = useState("");
  const id = useId();
  const use = (event: SubmitEvent): void => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  return (
    <form class="confirm" onSubmit={use}>
      {rejected === undefined ? null : (
        <p id={id} class="notice bad" role="alert">
          The server rejected the token: {rejected}
        </p>
      )}
      <label>
        <span>Token</span>
        <input
          type="password"
          autoComplete="off"
          maxLength={tokenLengthMax}
          {...(rejected === undefined ? {} : { "aria-invalid": true, "aria-describedby": id })}
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Sign in with the token</button>
    </form>
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
        {isGoing ? "Redirecting to the issuer" : "Sign in at the issuer"}
      </button>
    </>
  );
}
