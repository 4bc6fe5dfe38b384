import type { ConsoleConfig } from "../../api/console.ts";
import { basePath } from "../router/place.ts";
import type { IssuerClient } from "./issuer-sign-in.ts";
import { takePendingSignIn } from "./pending-sign-in.ts";
import { createTokenSession, type Session } from "./session.ts";
import { readSession } from "./session-store.ts";

/** Where a reader stands before the first page. */
export type Start = { readonly kind: "signed-in"; readonly session: Session; readonly again: SignedOut } | SignedOut;

/** How a reader without a session gets one. */
export type SignedOut =
  /** There is an issuer to go to. `reason` says why the way there is not taken without a click. */
  | { readonly kind: "issuer"; readonly reason?: string; readonly signIn: (returnTo: string) => Promise<void> }
  /** The program on this machine: a command makes the token. */
  | { readonly kind: "local"; readonly command: string | null; readonly rejected?: string }
  /** The installation names no issuer for the console. `rejected` says why the last token was not accepted. */
  | { readonly kind: "unset"; readonly rejected?: string };

const configMsMax = 15_000;
/** Longest foreign text that is shown. */
const reasonLengthMax = 300;
/** A smaller difference is the time that the response took. */
const skewSecondsMin = 5;

/**
 * Reads how the server lets people sign in. A token in the address and a return from the issuer come first, then the
 * session that this browser stores. @throws Error without a server
 */
export async function startSession(): Promise<Start> {
  const token = takeFragmentToken(location, history);
  // Nearly every start needs it, so it is loaded while the configuration is read.
  void import("./key-session.ts").catch(() => undefined);
  const { config, skewSeconds } = await readConfig();
  if (config.issuer !== null && config.client_id !== null && token === undefined) {
    return startAtIssuer({
      issuer: config.issuer,
      clientId: config.client_id,
      scopes: config.scopes ?? "",
      clockSkewSeconds: skewSeconds,
    });
  }
  const again: SignedOut = config.is_local ? { kind: "local", command: config.open_command } : { kind: "unset" };
  if (!config.is_local || token === undefined) return storedStart(again);
  const opened = await openWithToken(token, skewSeconds);
  return "session" in opened ? { kind: "signed-in", ...opened, again } : { ...again, ...opened };
}

/** A session, or why the server rejects the token for it. */
type Opened = { readonly session: Session } | { readonly rejected: string };

/**
 * A session with a token that a person gave: bound to a key and stored if the program can bind it. Any other token is
 * tried first, so that a wrong one does not open pages that then fail.
 */
export async function openWithToken(token: string, clockSkewSeconds: number): Promise<Opened> {
  const { startBoundSession } = await import("./start-bound-session.ts");
  const bound = await startBoundSession(token, clockSkewSeconds).catch(() => undefined);
  if (bound !== undefined) return { session: bound };
  const session = createTokenSession(token);
  const rejected = await rejectionOf(session);
  return rejected === undefined ? { session } : { rejected };
}

/** Why the server rejects a token; undefined if it does not, and without a response: the pages say why then. */
async function rejectionOf({ send }: Session): Promise<string | undefined> {
  const response = await send("/v1/me", { signal: AbortSignal.timeout(configMsMax) }).catch(() => undefined);
  if (response?.status !== 401) return undefined;
  const { detail } = (await response.json().catch(() => ({}))) as { readonly detail?: unknown };
  return typeof detail === "string" ? detail.slice(0, reasonLengthMax) : "It is invalid or has expired.";
}

/** The session that this browser stores, else what to do without one. */
export async function storedStart(again: SignedOut): Promise<Start> {
  const stored = await readSession(Date.now());
  if (stored === undefined) return again;
  const { createKeySession } = await import("./key-session.ts");
  return { kind: "signed-in", session: createKeySession(stored), again };
}

async function startAtIssuer(client: IssuerClient): Promise<Start> {
  const { finishSignIn, goToIssuer, returnPath } = await import("./issuer-sign-in.ts");
  const again = { kind: "issuer", signIn: (returnTo: string) => goToIssuer(client, returnTo) } as const;
  if (location.pathname !== returnPath) return storedStart(again);
  const returned = new URLSearchParams(location.search);
  const pending = takePendingSignIn(sessionStorage);
  history.replaceState(null, "", pending?.returnTo ?? `${basePath}/`);
  if (pending === undefined)
    return { ...again, reason: "The issuer responded to a sign-in that this tab did not start." };
  try {
    return { kind: "signed-in", session: await finishSignIn(client, pending, returned), again };
  } catch (error) {
    return { ...again, reason: reasonOf(error) };
  }
}

/** The issuer's own words, where it has some. */
function reasonOf(error: unknown): string {
  const { error_description: description, message } = error as { error_description?: unknown; message?: unknown };
  const text = typeof description === "string" && description !== "" ? description : String(message ?? error);
  return `The issuer did not sign you in: ${text.slice(0, reasonLengthMax)}`;
}

async function readConfig(): Promise<{ readonly config: ConsoleConfig; readonly skewSeconds: number }> {
  const signal = AbortSignal.timeout(configMsMax);
  const response = await fetch(`${basePath}/config.json`, { credentials: "omit", cache: "no-store", signal });
  if (!response.ok)
    throw new Error(
      `The server responded with ${response.status} to the request for the configuration of the console.`,
    );
  const config = (await response.json()) as ConsoleConfig;
  return { config, skewSeconds: skewOf(response.headers.get("date"), Date.now()) };
}

/** Lead of the server's clock, seconds; 0 when it is small or unknown. */
export function skewOf(date: string | null, nowMs: number): number {
  const seconds = Math.round((Date.parse(date ?? "") - nowMs) / 1_000);
  return Math.abs(seconds) >= skewSecondsMin ? seconds : 0;
}

/**
 * Takes the token out of an address such as `/console/#token=…` and erases it there at once, before anything else can
 * read, store or share the address. Undefined without one.
 */
export function takeFragmentToken(place: Location, past: History): string | undefined {
  const token = new URLSearchParams(place.hash.slice(1)).get("token");
  if (token === null) return undefined;
  past.replaceState(null, "", place.pathname + place.search);
  return token === "" ? undefined : token;
}
