/** What must outlive the way to the issuer and back. It holds no token and no key. */
export interface PendingSignIn {
  /** Proves to the issuer that the reader who comes back is the one who went. Source: RFC 7636. */
  readonly verifier: string;
  readonly state: string;
  /** Path and parameters of the console to go back to. */
  readonly returnTo: string;
}

const storageKey = "heliograph-sign-in";

/** Keeps it in the session of this tab until {@link takePendingSignIn}. */
export function storePendingSignIn(pending: PendingSignIn, storage: Storage): void {
  storage.setItem(storageKey, JSON.stringify(pending));
}

/** Takes it out; undefined when there is none or it is damaged. */
export function takePendingSignIn(storage: Storage): PendingSignIn | undefined {
  const text = storage.getItem(storageKey);
  storage.removeItem(storageKey);
  if (text === null) return undefined;
  const { verifier, state, returnTo } = membersOf(text);
  if (typeof verifier !== "string" || typeof state !== "string") return undefined;
  return { verifier, state, returnTo: safeReturn(returnTo) };
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** A path of the console; the first page for anything else. */
function safeReturn(path: unknown): string {
  return typeof path === "string" && /^\/console\/(?!signed-in)/u.test(path) ? path : "/console/";
}
