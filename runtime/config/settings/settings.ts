// Schema, defaults and parser of the installation's settings. It holds no resources.

import type { RuntimeConfig } from "../../../crds/config.ts";

/**
 * Installation settings: one schema-checked file, the same in a cluster (a ConfigMap) and without one. Resources
 * describe partners and metrics; settings describe this installation.
 */
export interface Settings {
  /** Name of the installation: the `X-Webhook-Producer` of events without a producer. @default "heliograph" */
  readonly name: string;
  /** Trusted token issuers. @default none: every request that needs a token is rejected */
  readonly issuers: readonly IssuerSettings[];
  readonly claims: ClaimSettings;
  /** Required binding of tokens; an issuer may override it. @default "None" */
  readonly tokenBinding: TokenBinding;
  /**
   * Rule for the partners claim on webhook routes. @default "Optional": a token without the claim sees every partner
   */
  readonly partnersClaim: PartnersClaim;
  /**
   * Public origins of the API, such as `https://api.example.com`. @default the `Host` header with http or https
   */
  readonly publicUrls: readonly string[];
  /** TLS of the public port. @default plain HTTP */
  readonly tls?: TlsSettings;
  /** Proxies that may forward the client's certificate. @default none */
  readonly trustedProxies?: TrustedProxySettings;
  /** Residency of NATS. Results of stores of another residency are not shared through it. @default all are shared */
  readonly residency?: string;
  readonly personalData: PersonalDataSettings;
  readonly events: EventSettings;
  readonly streams: StreamSettings;
  readonly delivery: DeliverySettings;
  readonly metrics: MetricsSettings;
  readonly console: ConsoleSettings;
}

/** The page at `/console`. Without an issuer, people bring a token themselves, as `heliograph open` does. */
export interface ConsoleSettings {
  /** False answers `/console` as any unknown path. @default true */
  readonly enabled: boolean;
  /** Issuer with which people sign in: one of the issuers, with tokens bound to a key. @default none */
  readonly issuer?: string;
  /** Client id of the console at that issuer: a public client. */
  readonly clientId?: string;
  /** Scopes that the console asks for, with spaces between. @default those that the issuer gives by itself */
  readonly scopes?: string;
}

/** Settings of deliveries. */
interface DeliverySettings {
  /**
   * Number of partners with their own lane and consumers; the others share lanes.
   * @default 800, or 200 when streams have copies: every acknowledgement looks through all consumers
   */
  readonly ownLanesMax?: number;
  /** Time from the removal of a partner until its waiting deliveries end. @default 600 */
  readonly removedAfterSeconds: number;
}

/** Settings of metrics queries. */
interface MetricsSettings {
  /**
   * Bound on the store requests of one query, in milliseconds. A store's `timeoutSeconds` has effect only below it.
   * Source: seed "Operational Metrics API" §8, "Recommended client timeout". @default 1800
   */
  readonly deadlineMs: number;
  /** Identity with which roles of AWS are assumed for stores. @default none: stores with roles fail */
  readonly webIdentity?: { readonly tokenFile: string; readonly stsUrl?: string };
}

/**
 * `None`: a token need not be bound, but the binding of a bound one is checked. `Certificate`: bound to a client
 * certificate (RFC 8705 §3). `Key`: bound to a key (RFC 9449). `Any`: bound to either.
 */
export type TokenBinding = (typeof tokenBindings)[number];
/** Every {@link TokenBinding}. */
export const tokenBindings = ["None", "Certificate", "Key", "Any"] as const;

/** `Optional`: a token without the claim sees every partner. `Required`: it is rejected on webhook routes. */
export type PartnersClaim = (typeof partnersClaims)[number];
/** Every {@link PartnersClaim}. */
export const partnersClaims = ["Optional", "Required"] as const;

/** TLS of the public port. Client certificates are requested but optional. Files are read again when they change. */
export interface TlsSettings {
  /** PEM: the certificate and its chain. */
  readonly certFile: string;
  /** PEM. */
  readonly keyFile: string;
  /**
   * PEM of the authorities of client certificates. @default any certificate is accepted, by its thumbprint alone
   */
  readonly clientCaFile?: string;
  /** @default "TLSv1.2" */
  readonly minVersion?: (typeof tlsVersions)[number];
}
/** Supported minimum versions of TLS. */
export const tlsVersions = ["TLSv1.2", "TLSv1.3"] as const;

/** Proxies that terminate TLS and forward the client's certificate. */
export interface TrustedProxySettings {
  /** CIDR blocks; the header of any other address is ignored. */
  readonly addresses: readonly string[];
  /** @default that of the form: X-Forwarded-Client-Cert, X-SSL-Client-Cert, Client-Cert */
  readonly certificateHeader?: string;
  readonly certificateForm: CertificateForm;
}
/**
 * `Xfcc`: the single element of an Envoy that sanitizes the header. `XfccAppend`: the last element of an Envoy that
 * appends to it. `EscapedPem`: nginx's `$ssl_client_escaped_cert`. `ClientCert`: RFC 9440.
 */
export type CertificateForm = (typeof certificateForms)[number];
/** Every {@link CertificateForm}. */
export const certificateForms = ["Xfcc", "XfccAppend", "EscapedPem", "ClientCert"] as const;

/** One trusted token issuer; its keys come from exactly one of `jwksUrl` and `jwksFile`. */
export interface IssuerSettings {
  /** Exact value of the `iss` claim. Empty: that of the token in {@link jwksTokenFile}. */
  readonly issuer: string;
  /** Accepted values of the `aud` claim; at least one. */
  readonly audiences: readonly string[];
  readonly jwksUrl?: string;
  /** PEM file of the authorities that prove the host of `jwksUrl`. @default those that Node trusts */
  readonly jwksCaFile?: string;
  /** File of a bearer token for the host of `jwksUrl`, read for each request. @default none is sent */
  readonly jwksTokenFile?: string;
  readonly jwksFile?: string;
  /** Signature algorithms, asymmetric only. @default ["RS256", "ES256", "EdDSA"] */
  readonly algorithms: readonly string[];
  /** Required binding of this issuer's tokens. @default that of the settings */
  readonly tokenBinding?: TokenBinding;
  /** Accepted `typ` header of this issuer's tokens. @default "Any" */
  readonly tokenType?: TokenType;
  /**
   * Rights by the `sub` claim, for issuers whose tokens carry none, such as a Kubernetes cluster. @default none
   */
  readonly grants?: readonly SubjectGrant[];
}

/** `Any`: all but those of another purpose, such as `dpop+jwt`. `AccessToken`: only `at+jwt` (RFC 9068 §2.1). */
export type TokenType = (typeof tokenTypes)[number];
/** Every {@link TokenType}. */
export const tokenTypes = ["Any", "AccessToken"] as const;

/** Permissions of a subject's tokens, in addition to their claims. */
export interface SubjectGrant {
  /** Exact value of the `sub` claim. */
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly tenants: readonly string[];
  /** @default none */
  readonly roles?: readonly string[];
  /** Webhook partners, as `namespace/name`. @default those of the token */
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

/** Personal data that events must not contain. */
export interface PersonalDataSettings {
  /** Names of fields, at any depth of `data`, without regard to case, space, `_` and `-`. */
  readonly forbiddenFields: readonly string[];
  /** Fields (dotted paths below `data`) whose digits are never taken for a card number. */
  readonly allowedFields: readonly string[];
  /** Allowed fields for some types of events. */
  readonly allowedForTypes: readonly AllowedFields[];
}

/** Fields of events of some types whose digits are never taken for a card number. */
interface AllowedFields {
  /** Types, or patterns as in subscriptions. */
  readonly types: readonly string[];
  /** Dotted paths from the event on, such as `data.order_no` or `event_id`. */
  readonly fields: readonly string[];
}

/** Requirements on events beyond the envelope. */
export interface EventSettings {
  /** Allowed forms of event ids, so that no tenant can guess another's ids. @default any id */
  readonly idForms: readonly EventIdForm[];
  /** Where the id of a new event must be unused. @default "Installation" */
  readonly idCheck: (typeof idChecks)[number];
  /** What becomes of an event whose type or version no event catalog declares. @default "Accept" */
  readonly undeclared: (typeof undeclaredEvents)[number];
}

/** Every value of {@link EventSettings.idCheck}. `Tenant`: ids that begin with their tenant are read in it only. */
export const idChecks = ["Installation", "Tenant"] as const;

/** Every value of {@link EventSettings.undeclared}. */
export const undeclaredEvents = ["Accept", "Warn", "Reject"] as const;

/**
 * `Uuid`: RFC 9562 §4. `Ulid`: 26 digits of Crockford's base 32. `TenantPrefix`: the event's tenant, one of `.`, `:`
 * and `/`, and more.
 */
export type EventIdForm = (typeof eventIdForms)[number];
/** Every {@link EventIdForm}. */
export const eventIdForms = ["Uuid", "Ulid", "TenantPrefix"] as const;

/** Sizes of the JetStream streams. */
export interface StreamSettings {
  /** First token of every subject, and, in capitals, of every stream name. @default "hg" */
  readonly prefix: string;
  /** Number of replicas of each stream: 1, 3 or 5. @default 1 */
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

/**
 * Warnings for each stream with too short a retention. An event and its attempts must outlive the longest delivery and
 * its dead letter, or a redrive would not find them.
 */
export function retentionFaults(streams: StreamSettings, { partners }: RuntimeConfig): readonly string[] {
  const oldest = partners.toSorted((one, other) => other.retry.maxAgeSeconds - one.retry.maxAgeSeconds)[0];
  if (oldest === undefined) return [];
  const neededSeconds = oldest.retry.maxAgeSeconds + streams.deadLetters.maxAgeSeconds;
  return (["events", "attempts"] as const)
    .filter((stream) => streams[stream].maxAgeSeconds < neededSeconds)
    .map(
      (stream) =>
        `streams.${stream}.maxAgeSeconds is ${streams[stream].maxAgeSeconds}, but deliveries to partner ` +
        `${oldest.namespace}/${oldest.name} and their dead letters may be kept for ${neededSeconds} s`,
    );
}
