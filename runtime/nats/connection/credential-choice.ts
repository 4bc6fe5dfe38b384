import type { Authenticator } from "@nats-io/transport-node";
import { authenticatorOf, isSame, type Credentials } from "./credentials.ts";

/**
 * The credentials of a connection during a rotation: those that work, and newer ones that the server may not accept
 * yet. Each refusal changes to the other ones, so that the order in which both sides learn of them does not matter.
 */
export interface CredentialChoice {
  /** For the client, which calls it at each connection attempt. */
  readonly authenticator: Authenticator;
  /** Those of the next attempt; those of the connection while it lasts. */
  current(): Credentials;
  newest(): Credentials;
  /** Newer ones, which replace earlier newer ones. */
  offer(newest: Credentials): void;
  /** True while newer ones are not in use. */
  isPending(): boolean;
  /** The next attempt uses the newer ones. */
  preferNewest(): void;
  /** The server refused the current ones. */
  refused(): void;
  /** The server accepted the current ones. */
  accepted(): void;
}

/** @param first those of the first attempt */
export function createCredentialChoice(first: Credentials): CredentialChoice {
  let working = first;
  let newest = first;
  let current = first;
  let authenticator = authenticatorOf(first);
  const use = (next: Credentials): void => {
    current = next;
    authenticator = authenticatorOf(next);
  };
  return {
    authenticator: (nonce) => authenticator(nonce),
    current: () => current,
    newest: () => newest,
    offer: (next) => {
      if (isSame(next, newest)) return;
      newest = next;
      // Those that were offered before and never worked are void.
      if (!isSame(current, working)) use(newest);
    },
    isPending: () => !isSame(newest, working),
    preferNewest: () => use(newest),
    refused: () => use(isSame(current, newest) ? working : newest),
    accepted: () => {
      working = current;
    },
  };
}
