import type { PeerConfig, PrometheusConfig } from "../../crds/config.ts";
import type { AwsSigningConfig } from "../../crds/store-credentials.ts";

/** Secret bytes by material id, base64. */
export type Material = Readonly<Record<string, string>>;

/** The identity with which the runtime assumes roles of AWS. */
export interface WebIdentity {
  /** File of the token, which Kubernetes replaces before it expires. */
  readonly tokenFile: string;
  /** URL of the Security Token Service. @default that of the store's region */
  readonly stsUrl?: string;
}

/** What all stores of a runtime share. */
export interface SharedAccess {
  /** Bound on the reads of one query, in milliseconds. @default 1800 */
  readonly deadlineMs?: number | undefined;
  /** Identity with which roles of AWS are assumed. @default none: stores with roles fail */
  readonly webIdentity?: WebIdentity | undefined;
}

/** The credentials for a store and the certificates of its connections. They are never logged. */
export interface StoreSecrets {
  readonly headers: Readonly<Record<string, string>>;
  /** Secret of the OAuth 2.0 client credentials; undefined without any. */
  readonly clientSecret?: string;
  /** Keys of AWS; undefined without any. */
  readonly awsKeys?: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string };
  readonly tls: {
    readonly ca?: Buffer;
    readonly cert?: Buffer;
    readonly key?: Buffer;
    readonly servername?: string;
  };
}

/** Looks up the material of a store. `compile` ensures that all of it exists. Source: RFC 7617, RFC 6750, RFC 8446. */
export function secretsOf(
  { auth, tls }: Pick<PrometheusConfig | PeerConfig, "auth" | "tls">,
  material: Material,
): StoreSecrets {
  const bytes = (id: string): Buffer => Buffer.from(material[id] ?? "", "base64");
  return {
    ...credentialsOf(auth, bytes),
    tls: {
      ...(tls?.ca === undefined ? {} : { ca: bytes(tls.ca) }),
      ...(tls?.client === undefined ? {} : { cert: bytes(tls.client.certificate), key: bytes(tls.client.key) }),
      ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
    },
  };
}

function credentialsOf(
  auth: (PrometheusConfig | PeerConfig)["auth"],
  bytes: (id: string) => Buffer,
): Pick<StoreSecrets, "headers" | "clientSecret" | "awsKeys"> {
  if (auth === undefined || auth.kind === "awsRole") return { headers: {} };
  if (auth.kind === "oauth2") return { headers: {}, clientSecret: bytes(auth.secret).toString("utf8") };
  if (auth.kind === "sigv4") return { headers: {}, awsKeys: awsKeysOf(auth, bytes) };
  if (auth.kind === "bearer") return { headers: { authorization: `Bearer ${bytes(auth.token).toString("latin1")}` } };
  const pair = Buffer.concat([bytes(auth.username), Buffer.from(":"), bytes(auth.password)]);
  return { headers: { authorization: `Basic ${pair.toString("base64")}` } };
}

function awsKeysOf({ keys }: AwsSigningConfig, bytes: (id: string) => Buffer): NonNullable<StoreSecrets["awsKeys"]> {
  const text = (id: string): string => bytes(id).toString("utf8");
  const { accessKeyId, secretAccessKey, sessionToken } = keys;
  const temporary = sessionToken === undefined ? {} : { sessionToken: text(sessionToken) };
  return { accessKeyId: text(accessKeyId), secretAccessKey: text(secretAccessKey), ...temporary };
}
