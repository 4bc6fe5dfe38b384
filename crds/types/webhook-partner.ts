// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** The endpoint, the signing keys and the subscriptions of the partner. */
export interface WebhookPartnerSpec {
  /** The HTTP endpoint that receives the events. */
  readonly endpoint: WebhookPartnerEndpoint;
  /** Signature scheme of deliveries. */
  readonly signing: WebhookPartnerSigning;
  /**
   * Format of the bodies of deliveries. Envelope, the default, is the event as its producer sent it, with attempt.
   * CloudEvents is a CloudEvent 1.0 in structured mode. All signing schemes sign either.
   */
  readonly format?: "Envelope" | "CloudEvents";
  /** Events that the partner receives. An event that matches several subscriptions is delivered once. */
  readonly subscriptions: readonly WebhookPartnerSubscription[];
  /** Limits on the rate and the backlog of deliveries. @default {} */
  readonly delivery: WebhookPartnerDelivery;
  /** When failed deliveries are retried, and when retries are exhausted. @default {} */
  readonly retry: WebhookPartnerRetry;
  /**
   * Pauses deliveries to a partner that fails or responds with Retry-After. After a pause, one attempt at a time probes
   * the endpoint. @default {}
   */
  readonly circuitBreaker: WebhookPartnerCircuitBreaker;
  /** Dead letters of failed deliveries. @default {} */
  readonly deadLetter: WebhookPartnerDeadLetter;
  /** Non-public networks that the endpoint may be in, within the installation's policy. @default {} */
  readonly networks: WebhookPartnerNetworks;
  /** Active sends deliveries. Paused holds all deliveries and sends none. @default "Active" */
  readonly state: "Active" | "Paused";
}

/** The HTTP endpoint that receives the events. */
export interface WebhookPartnerEndpoint {
  /**
   * Absolute URL of the endpoint. The path may contain {domain}, which is replaced by the first segment of the event
   * type. An empty path or / defaults to /webhooks/v1/{domain}. A query is allowed for schemes other than HmacV1 and
   * may contain {domain} too; HttpMessageSignatures signs it. Query values are treated as secrets.
   */
  readonly url: string;
  /** Timeout of one attempt, from DNS resolution to the last byte of the response. @default 10 */
  readonly timeoutSeconds: number;
  /**
   * Headers added to every request. Do not use them for credentials, which would be visible to everyone who can read
   * this object. Headers set by the signing scheme or by HTTP are not allowed. @default []
   */
  readonly headers: readonly WebhookPartnerEndpointHeader[];
  /**
   * Key of a Secret in the same namespace with the CA certificates, in PEM, that are trusted for the endpoint instead
   * of the system's.
   */
  readonly caBundleRef?: WebhookPartnerEndpointCaBundleRef;
  /**
   * Secret in the same namespace, such as one of type kubernetes.io/tls, whose tls.crt and tls.key are presented to the
   * endpoint.
   */
  readonly clientCertificateRef?: WebhookPartnerEndpointClientCertificateRef;
  /**
   * OAuth 2.0 client credentials: a token is requested, cached until shortly before it expires and sent with every
   * delivery. If the endpoint rejects a token with 401, a new one is requested, once per attempt. The client's
   * credentials are sent in the Authorization header, or in the form if the server rejects them there.
   */
  readonly oauth2?: WebhookPartnerEndpointOauth2;
  /**
   * Handshake sends an OPTIONS request before the first delivery, to which the endpoint responds with its consent and
   * the allowed rate per minute, as in the CloudEvents web hook specification. Without consent nothing is sent, and
   * deliveries are retried on their schedule. @default "None"
   */
  readonly verification: "None" | "Handshake";
  /**
   * Minimum time for which the recipient deduplicates event ids. Replays of older events could be processed twice, so
   * they have to be forced. @default 259200
   */
  readonly idempotencySeconds: number;
  /**
   * Absolute URL that is notified, with a signature like a delivery, when an event of the partner is handled manually:
   * the recipient's /webhooks/ack. If absent, the recipient is not notified. The same rules apply to a query as in the
   * endpoint's URL.
   */
  readonly ackUrl?: string;
}

/** One header. */
export interface WebhookPartnerEndpointHeader {
  /** Name of the header, case-insensitive. */
  readonly name: string;
  /** Value of the header, in visible ASCII characters. */
  readonly value: string;
}

/**
 * Key of a Secret in the same namespace with the CA certificates, in PEM, that are trusted for the endpoint instead of
 * the system's.
 */
export interface WebhookPartnerEndpointCaBundleRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key in the Secret. @default "ca.crt" */
  readonly key: string;
}

/**
 * Secret in the same namespace, such as one of type kubernetes.io/tls, whose tls.crt and tls.key are presented to the
 * endpoint.
 */
export interface WebhookPartnerEndpointClientCertificateRef {
  /** Name of the Secret. */
  readonly name: string;
}

/**
 * OAuth 2.0 client credentials: a token is requested, cached until shortly before it expires and sent with every
 * delivery. If the endpoint rejects a token with 401, a new one is requested, once per attempt. The client's
 * credentials are sent in the Authorization header, or in the form if the server rejects them there.
 */
export interface WebhookPartnerEndpointOauth2 {
  /**
   * Absolute URL of the token endpoint, with the same network restrictions as the endpoint. Query values are treated as
   * secrets.
   */
  readonly tokenUrl: string;
  /** Client id, in visible ASCII characters. */
  readonly clientId: string;
  /** Key of a Secret in the same namespace that contains the client secret. */
  readonly clientSecretRef: WebhookPartnerEndpointOauth2ClientSecretRef;
  /** Requested scopes. @default [] */
  readonly scopes: readonly string[];
  /**
   * Bind the token to a key of the sending pod and prove possession of the key with every request (DPoP, RFC 9449).
   * @default false
   */
  readonly dpop: boolean;
}

/** Key of a Secret in the same namespace that contains the client secret. */
export interface WebhookPartnerEndpointOauth2ClientSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key in the Secret. */
  readonly key: string;
}

/** Signature scheme of deliveries. */
export interface WebhookPartnerSigning {
  /**
   * HmacV1 is HMAC-SHA256 over timestamp, method, path and body hash, in X-Signature. StandardWebhooks is version 1.0.0
   * of that specification: v1 with a shared key, v1a with an Ed25519 key. HttpMessageSignatures is RFC 9421 with a
   * private key, whose public key the runtime serves. @default "HmacV1"
   */
  readonly scheme: "HmacV1" | "StandardWebhooks" | "HttpMessageSignatures";
  /**
   * Sign each delivery with all keys that have not expired, for recipients that know only one key at a time and check
   * each signature. The signature of the newest key is first. @default false
   */
  readonly sideBySide: boolean;
  /** Signing keys. The first key signs; the recipient accepts all of them. To rotate, insert the new key first. */
  readonly keys: readonly WebhookPartnerSigningKey[];
}

/** A shared or private key. */
export interface WebhookPartnerSigningKey {
  /** Name of the key, unique within the partner. */
  readonly id: string;
  /**
   * Key of a Secret in the same namespace that contains the key material. HmacV1: at least 32 bytes. StandardWebhooks:
   * whsec_ and base64, whsk_ and base64, an Ed25519 key in PEM, or at least 32 bytes, which are used as they are even
   * if they are base64. HttpMessageSignatures: an Ed25519, P-256 or P-384 key in PEM.
   */
  readonly secretRef: WebhookPartnerSigningKeySecretRef;
  /** Time in UTC after which the recipient no longer accepts this key. */
  readonly notAfter?: string;
}

/**
 * Key of a Secret in the same namespace that contains the key material. HmacV1: at least 32 bytes. StandardWebhooks:
 * whsec_ and base64, whsk_ and base64, an Ed25519 key in PEM, or at least 32 bytes, which are used as they are even if
 * they are base64. HttpMessageSignatures: an Ed25519, P-256 or P-384 key in PEM.
 */
export interface WebhookPartnerSigningKeySecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key in the Secret. */
  readonly key: string;
}

/** A subscription; an event matches if its type, tenant and producer match, and all matchers do. */
export interface WebhookPartnerSubscription {
  /** Name of the subscription, unique within the partner. */
  readonly name: string;
  /** Patterns of event types. The segment * matches exactly one segment; a trailing ** matches one or more segments. */
  readonly types: readonly string[];
  /** Tenants whose events match. * matches all tenants and - matches events without a tenant. */
  readonly tenants: readonly string[];
  /** Producers whose events match; defaults to all producers. @default [] */
  readonly producers: readonly string[];
  /** Conditions on the content of the event, all of which must match. They see the event as its producer sent it. */
  readonly matchers?: readonly WebhookPartnerSubscriptionMatcher[];
  /**
   * Part of the event that is sent. It is selected once, when the event is routed, and retries send the same bytes. If
   * several subscriptions match, the first in the list decides. If absent, the whole event is sent.
   */
  readonly payload?: WebhookPartnerSubscriptionPayload;
}

/** A condition on one value of the event. A missing value matches only NotEqual, NotIn and NotExists. */
export interface WebhookPartnerSubscriptionMatcher {
  /**
   * JSON pointer (RFC 6901) to the value, such as /data/currency or /producer. The parts of a list are numbered from 0;
   * ~1 is a slash in a name and ~0 a tilde.
   */
  readonly pointer: string;
  /**
   * Operator. Equal, In, GreaterThan, LessThan and Prefix match only a value of their type; NotEqual and NotIn match
   * whatever Equal and In do not, also a missing value. Exists matches every value, also null. @default "Equal"
   */
  readonly op: "Equal" | "NotEqual" | "In" | "NotIn" | "Exists" | "NotExists" | "GreaterThan" | "LessThan" | "Prefix";
  /**
   * JSON type of the compared value. Values are never converted: the number 1 is not the string "1". Numbers are
   * compared exactly, with all their digits. Defaults to Number for GreaterThan and LessThan, and to String otherwise.
   */
  readonly type?: "String" | "Number" | "Boolean" | "Null";
  /** Value to compare with. A number is written as a string, for example "100". */
  readonly value?: string;
  /** Values to compare with, written like value. */
  readonly values?: readonly string[];
}

/**
 * Part of the event that is sent. It is selected once, when the event is routed, and retries send the same bytes. If
 * several subscriptions match, the first in the list decides. If absent, the whole event is sent.
 */
export interface WebhookPartnerSubscriptionPayload {
  /**
   * JSON pointers to what is sent, with the fields of the envelope. The segment * stands for every item of a list.
   * Unselected items of a list become null, so that the others keep their places.
   */
  readonly include?: readonly string[];
  /**
   * JSON pointers to what is not sent. The segment * stands for every item of a list. An excluded item of a list
   * becomes null, so that the others keep their places.
   */
  readonly exclude?: readonly string[];
  /**
   * Classes of fields that are not sent: those of the event catalog that declares the type, when the event is routed. A
   * type that no catalog ever declared has none.
   */
  readonly excludeClasses?: readonly string[];
}

/** Limits on the rate and the backlog of deliveries. @default {} */
export interface WebhookPartnerDelivery {
  /** Maximum number of concurrent attempts, across all pods. @default 64 */
  readonly maxInFlight: number;
  /** Maximum number of attempts per second, including retries. Unlimited if absent. */
  readonly ratePerSecond?: number;
  /** Maximum burst of attempts after an idle period. Defaults to ratePerSecond. */
  readonly burst?: number;
  /**
   * Limit on pending deliveries of the partner, including retries. Deliveries beyond the limit become dead letters
   * immediately, with the reason backlog_full. @default {}
   */
  readonly maxBacklog: WebhookPartnerDeliveryMaxBacklog;
}

/**
 * Limit on pending deliveries of the partner, including retries. Deliveries beyond the limit become dead letters
 * immediately, with the reason backlog_full. @default {}
 */
export interface WebhookPartnerDeliveryMaxBacklog {
  /** Maximum number of pending deliveries. @default 200000 */
  readonly messages: number;
  /**
   * Maximum size of pending deliveries in bytes, estimated from the mean size of the partner's deliveries. @default
   * 268435456
   */
  readonly bytes: number;
}

/** When failed deliveries are retried, and when retries are exhausted. @default {} */
export interface WebhookPartnerRetry {
  /**
   * Delays after attempt 1, 2 and so on. After the last delay, the delivery is retried daily until maxAgeSeconds.
   * @default [5,15,30,60,120,300,600,1800,3600,10800,21600,43200,86400]
   */
  readonly scheduleSeconds: readonly number[];
  /** Time after acceptance of the event at which the delivery becomes a dead letter. @default 604800 */
  readonly maxAgeSeconds: number;
  /** Maximum random extension of each delay, in percent of the delay. @default 10 */
  readonly jitterPercent: number;
}

/**
 * Pauses deliveries to a partner that fails or responds with Retry-After. After a pause, one attempt at a time probes
 * the endpoint. @default {}
 */
export interface WebhookPartnerCircuitBreaker {
  /** If false, failures never pause deliveries. Retry-After still does. @default true */
  readonly enabled: boolean;
  /** Consecutive failed attempts after which deliveries are paused. @default 20 */
  readonly failures: number;
  /** Initial pause in seconds. Each failed probe doubles it. @default 30 */
  readonly openSeconds: number;
  /** Maximum pause in seconds, including pauses requested by Retry-After. @default 600 */
  readonly maxOpenSeconds: number;
}

/** Dead letters of failed deliveries. @default {} */
export interface WebhookPartnerDeadLetter {
  /**
   * How long dead letters are kept, in seconds, at most as long as the installation keeps them. Defaults to the
   * installation's retention.
   */
  readonly retainSeconds?: number;
}

/** Non-public networks that the endpoint may be in, within the installation's policy. @default {} */
export interface WebhookPartnerNetworks {
  /** Non-public address blocks that are allowed. @default [] */
  readonly allowCidrs: readonly string[];
  /** Allows http. @default false */
  readonly allowPlaintext: boolean;
}
