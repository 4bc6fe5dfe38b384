import type { SendRequest } from "../api/client.ts";

/** A signed-in reader. Everything that proves it is in the memory of this page. */
export interface Session {
  readonly send: SendRequest;
  /** Forgets all of it, here and where the issuer offers it. Requests after it are refused. */
  end(): Promise<void>;
}

/** A session with a plain token, such as the one of `heliograph open`. */
export function createTokenSession(token: string): Session {
  let held: string | undefined = token;
  return {
    send: async (path, init) => {
      const headers = new Headers(init.headers);
      if (held !== undefined) headers.set("authorization", `Bearer ${held}`);
      return fetch(path, { ...init, headers });
    },
    end: async () => {
      held = undefined;
    },
  };
}
