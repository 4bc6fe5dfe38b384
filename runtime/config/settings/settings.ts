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
  /** What every token has to be bound to; an issuer may say otherwise. @default "None" */
  readonly tokenBinding: TokenBinding;
  /** Whether tokens on webhook routes have to name partners. @default "Optional": one that names none sees every one */
  readonly partnersClaim: PartnersClaim;
  /**
   * Origins under which callers know the API, such as `https://api.example.com`. @default what `Host` says, by http or
   * https
   */
  readonly publicUrls: readonly string[];
  /** How the public port is served. @default plain HTTP */
  readonly tls?: TlsSettings;
  /** Who may say which certificate the client showed. @default nobody */
  readonly trustedProxies?: TrustedProxySettings;
  /** Where NATS keeps data; what stores of another residency answer is not shared through it. @default all of it is */
  readonly residency?: string;
  readonly personalData: PersonalDataSettings;
  readonly events: EventSettings;
  readonly streams: StreamSettings;
  readonly delivery: DeliverySettings;
  readonly metrics: MetricsSettings;
}

/** How deliveries of many partners share one JetStream. */
interface DeliverySettings {
  /**
   * Partners that have a lane, and consumers, of their own; those beyond share lanes.
   * @default 800, or 200 when streams have copies: every acknowledgement looks through all consumers
   */
  readonly ownLanesMax?: number;
  /** How long a partner is gone from the configuration before what waits for it goes too. @default 600 */
  readonly removedAfterSeconds: number;
}

/** How metrics are answered. */
interface MetricsSettings {
  /**
   * Bound on all stores of one query together, in milliseconds. A store's own `timeoutSeconds` counts only below it.
   * Source: seed "Operational Metrics API" §8, "Recommended client timeout". @default 1800
   */
  readonly deadlineMs: number;
}

/**
 * `None`: a token need not be bound, but a bound one has to be proven all the same. `Certificate`: to a client
 * certificate (RFC 8705 §3). `Any`: to a client certificate or to a key (RFC 9449).
 */
export type TokenBinding = (typeof tokenBindings)[number];
/** Every {@link TokenBinding}. */
export const tokenBindings = ["None", "Certificate", "Any"] as const;

/** `Optional`: a token without the claim sees every partner. `Required`: it is refused on webhook routes. */
export type PartnersClaim = (typeof partnersClaims)[number];
/** Every {@link PartnersClaim}. */
export const partnersClaims = ["Optional", "Required"] as const;

/** TLS of the public port; clients are asked for a certificate, and need none. Files are read anew when they change. */
export interface TlsSettings {
  /** PEM: the certificate and what leads to its root. */
  readonly certFile: string;
  /** PEM. */
  readonly keyFile: string;
  /**
   * PEM of the authorities whose client certificates count. @default any certificate counts, by its thumbprint alone
   */
  readonly clientCaFile?: string;
  /** @default "TLSv1.2" */
  readonly minVersion?: (typeof tlsVersions)[number];
}
/** Least versions of TLS that may be asked for. */
export const tlsVersions = ["TLSv1.2", "TLSv1.3"] as const;

/** Proxies that end TLS and tell which certificate the client showed. */
export interface TrustedProxySettings {
  /** CIDR blocks; from any other address the header means nothing. */
  readonly addresses: readonly string[];
  /** @default that of the form: X-Forwarded-Client-Cert, X-SSL-Client-Cert, Client-Cert */
  readonly certificateHeader?: string;
  readonly certificateForm: CertificateForm;
}
/** `Xfcc`: Envoy's element list. `EscapedPem`: nginx's `$ssl_client_escaped_cert`. `ClientCert`: RFC 9440. */
export type CertificateForm = (typeof certificateForms)[number];
/** Every {@link CertificateForm}. */
export const certificateForms = ["Xfcc", "EscapedPem", "ClientCert"] as const;

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
  /** What tokens of this issuer have to be bound to. @default that of the settings */
  readonly tokenBinding?: TokenBinding;
  /** Which tokens of this issuer are taken by their `typ` header. @default "Any" */
  readonly tokenType?: TokenType;
  /**
   * Rights by the `sub` claim, for issuers whose tokens cannot carry any, such as a Kubernetes cluster's. @default none
   */
  readonly grants?: readonly SubjectGrant[];
}

/** `Any`: all but those of another purpose, such as `dpop+jwt`. `AccessToken`: only `at+jwt` (RFC 9068 §2.1). */
export type TokenType = (typeof tokenTypes)[number];
/** Every {@link TokenType}. */
export const tokenTypes = ["Any", "AccessToken"] as const;

/** What a token of one subject may do beyond what its claims say. */
export interface SubjectGrant {
  /** Exact value of the `sub` claim. */
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly tenants: readonly string[];
  /** @default none */
  readonly roles?: readonly string[];
  /** Webhook partners, as `namespace/name`. @default what the token names */
  readonly partners?: readonly string[];
}

/**
 * Names of the claims that carry grants; one that begins with `/` is a JSON pointer (RFC 6901) into nested claims, such
 * as `/realm_access/roles`. @default the property's own name
 */
export interface ClaimSettings {
  /** Names the client. @default `client_id`, else `azp`, else `sub` */
  readonly client?: string;
  /** @default `scope` and `scp` together */
  readonly scopes?: string;
  readonly tenants: string;
  readonly regions: string;
  readonly environments: string;
  readonly metrics: string;
  readonly roles: string;
  readonly partners: string;
}

/** What no event may carry. */
export interface PersonalDataSettings {
  /** Names of fields, at any depth of `data`, without regard to case, space, `_` and `-`. */
  readonly forbiddenFields: readonly string[];
  /** Fields (dotted paths below `data`) whose digits are never taken for a card number. */
  readonly allowedFields: readonly string[];
  /** The same for some types of events. */
  readonly allowedForTypes: readonly AllowedFields[];
}

/** Fields of events of some types whose digits are never taken for a card number. */
interface AllowedFields {
  /** Types, or patterns as in subscriptions. */
  readonly types: readonly string[];
  /** Dotted paths from the event on, such as `data.order_no` or `event_id`. */
  readonly fields: readonly string[];
}

/** What events have to be, besides what the envelope says. */
interface EventSettings {
  /**
   * Forms of which the id of every event must have one, so that no tenant can guess another's. @default none: any id
   */
  readonly idForms: readonly EventIdForm[];
}

/**
 * `Uuid`: RFC 9562 §4. `Ulid`: 26 digits of Crockford's base 32. `TenantPrefix`: the event's tenant, one of `.`, `:`
 * and `/`, and more.
 */
export type EventIdForm = (typeof eventIdForms)[number];
/** Every {@link EventIdForm}. */
export const eventIdForms = ["Uuid", "Ulid", "TenantPrefix"] as const;

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
