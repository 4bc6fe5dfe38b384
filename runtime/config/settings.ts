/**
 * Installation settings: one schema-checked file, the same in a cluster (a ConfigMap) and without one. Resources say
 * what partners and metrics are; settings say what this installation is.
 */
export interface Settings {
  /** Name of the installation: the `X-Webhook-Producer` of events without a producer. @default "heliograph" */
  readonly name: string;
  /** Who may issue tokens. @default none: every request that needs a token is refused */
  readonly issuers: readonly IssuerSettings[];
  readonly claims: ClaimSettings;
  readonly personalData: PersonalDataSettings;
  readonly streams: StreamSettings;
}

/** One trusted token issuer; its keys come from exactly one of `jwksUrl` and `jwksFile`. */
export interface IssuerSettings {
  /** Exact value of the `iss` claim. */
  readonly issuer: string;
  /** Accepted values of the `aud` claim; at least one. */
  readonly audiences: readonly string[];
  readonly jwksUrl?: string;
  /** PEM file of the authorities that prove the host of `jwksUrl`. @default those that Node trusts */
  readonly jwksCaFile?: string;
  /** File of a bearer token that the host of `jwksUrl` asks for; read anew each time. @default none is sent */
  readonly jwksTokenFile?: string;
  readonly jwksFile?: string;
  /** Signature algorithms, asymmetric only. @default ["RS256", "ES256", "EdDSA"] */
  readonly algorithms: readonly string[];
  /** Rights by the `sub` claim, for issuers whose tokens cannot carry any, such as a Kubernetes cluster's. @default none */
  readonly grants?: readonly SubjectGrant[];
}

/** What a token of one subject may do beyond what its claims say. */
export interface SubjectGrant {
  /** Exact value of the `sub` claim. */
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly tenants: readonly string[];
  /** @default none */
  readonly roles?: readonly string[];
}

/** Names of the claims that carry grants. @default the property's own name */
export interface ClaimSettings {
  readonly tenants: string;
  readonly regions: string;
  readonly environments: string;
  readonly metrics: string;
  readonly roles: string;
}

/** What no event may carry. */
export interface PersonalDataSettings {
  /** Names of fields, at any depth of `data`, case and `_`/`-` ignored. */
  readonly forbiddenFields: readonly string[];
  /** Fields (dotted paths below `data`) whose digits are never taken for a card number. */
  readonly allowedFields: readonly string[];
}

/** Sizes of the JetStream streams. Source: design §4. */
export interface StreamSettings {
  /** First token of every subject, and, in capitals, of every stream name. @default "hg" */
  readonly prefix: string;
  /** Copies of every stream: 1, 3 or 5. @default 1 */
  readonly replicas: number;
  readonly events: RetentionSettings;
  readonly deliveries: { readonly maxBytes: number };
  readonly attempts: RetentionSettings;
  readonly deadLetters: RetentionSettings;
}

export interface RetentionSettings {
  readonly maxAgeSeconds: number;
  readonly maxBytes: number;
}
