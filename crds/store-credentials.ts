/** Credentials of requests to a store, with keys of `RuntimeConfig.material`. */
export type StoreCredentials =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "bearer"; readonly token: string }
  | StoreOAuth2Config
  | AwsSigningConfig
  | AwsRoleConfig;

/** Signatures of AWS, version 4. */
export interface AwsSigningConfig {
  readonly kind: "sigv4";
  /** Of the store. */
  readonly region: string;
  readonly keys: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
}

/** Signatures of AWS by temporary keys of a role, which the runtime assumes with its web identity. */
export interface AwsRoleConfig {
  readonly kind: "awsRole";
  /** Of the store. */
  readonly region: string;
  readonly roleArn: string;
}

/** Client credentials for a store. */
export interface StoreOAuth2Config {
  readonly kind: "oauth2";
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Key of `RuntimeConfig.material`. */
  readonly secret: string;
  /** RFC 8707; absent: left to the authorization server. */
  readonly resource?: string;
  /** Absent: left to the authorization server. */
  readonly scopes?: readonly string[];
  /** Parameter of some authorization servers; absent: none. */
  readonly audience?: string;
}

/** Client credentials of a peer's caller. The URL is https, and the scope fixed. */
export type PeerOAuth2Config = Omit<StoreOAuth2Config, "scopes" | "audience">;

/** Keys of `RuntimeConfig.material`, in PEM, and the name that the store's certificate must have. */
export interface StoreTlsConfig {
  readonly ca?: string;
  readonly client?: { readonly certificate: string; readonly key: string };
  readonly serverName?: string;
}
