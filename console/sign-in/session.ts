import type { SendRequest } from "../api/client.ts";

/** A signed-in person. */
export interface Session {
  /** Of a session that all tabs share; undefined for one in the memory of this tab. */
  readonly id?: string;
  readonly send: SendRequest;
  /** Forgets the session in this tab. Requests after it are rejected. */
  readonly forget: () => void;
  /** Forgets the session in this tab and revokes its tokens if the issuer can. */
  end(): Promise<void>;
}

/** A session with a plain token, which is in the memory of this tab only. */
export function createTokenSession(token: string): Session {
  let held: string | undefined = token;
  const forget = (): void => {
    held = undefined;
  };
  return {
    send: async (path, init) => {
      const headers = new Headers(init.headers);
      if (held !== undefined) headers.set("authorization", `Bearer ${held}`);
      return fetch(path, { ...init, headers });
    },
    forget,
    end: async () => forget(),
  };
}
