/** Servers and credentials of NATS. */
export interface NatsAccess {
  /** `nats://host:port`, at least one. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** File of nsc, or folder of credentials, which is read again while connected (`credentials.ts`). */
  readonly auth?: string;
  /** PEM text of the authorities, or PEM files; present when the server requires TLS. */
  readonly tls?: {
    readonly ca?: string;
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
  /** Connects to the servers that the first one announces. @default true */
  readonly followsCluster?: boolean;
  /** Bound on the first connection, in milliseconds. @default 10000 */
  readonly firstConnectionTimeoutMs?: number;
}
