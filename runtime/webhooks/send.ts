import type { NetworksConfig } from "../../crds/config.ts";
import type { Outcome } from "./outcome.ts";

/** One POST to a partner. */
export interface SendRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Bound on the whole attempt, from look-up to last byte. */
  readonly timeoutMs: number;
  /** Where the partner may be reached besides the public Internet. */
  readonly networks: NetworksConfig;
  /** What TLS trusts and shows besides the defaults. @default the system's roots and no client certificate */
  readonly tls?: TlsIdentity;
  /** Gives the attempt up, with outcome `aborted`. */
  readonly signal?: AbortSignal;
}

/** PEM texts. Connections are never shared between different identities. */
export interface TlsIdentity {
  /** Certificates that are trusted instead of the system's roots. */
  readonly ca?: string;
  /** Client certificate chain. */
  readonly cert?: string;
  /** Private key of {@link cert}. */
  readonly key?: string;
}

/** Sends attempts over connections that it keeps alive. */
export interface Sender {
  /** What came of the attempt; never throws and never rejects. */
  send(request: SendRequest): Promise<Outcome>;
  /** Ends every connection; attempts under way fail. */
  close(): Promise<void>;
}
