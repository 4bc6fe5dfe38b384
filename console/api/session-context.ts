import type { Me } from "../../api/documents.ts";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ApiClient } from "./client.ts";

/** What a signed-in reader has. */
export interface SessionView {
  readonly api: ApiClient;
  /** Undefined while it is read, and where the server does not know the question. */
  readonly me: Me | undefined;
}

/** Given by the shell. */
export const SessionContext = createContext<SessionView | undefined>(undefined);

/** The session of the reader. Only pages and parts inside of the shell have one. */
export function useSession(): SessionView {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("a part stands outside of the session");
  return session;
}

/** True when the token has one of these scopes. While the rights are unknown everything is tried. */
export function mayUse(me: Me | undefined, scopes: readonly string[]): boolean {
  return me === undefined || scopes.length === 0 || scopes.some((scope) => me.scopes.includes(scope));
}
