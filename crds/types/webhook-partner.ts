// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** Where the partner's events go, how they are signed, and which events they are. */
export interface WebhookPartnerSpec {
  /** The HTTP endpoint that receives the events. */
  readonly endpoint: WebhookPartnerEndpoint;
  /** How deliveries prove who sent them. */
  readonly signing: WebhookPartnerSigning;
  /** Which events the partner receives. An event that several of them match is delivered once. */
  readonly subscriptions: readonly WebhookPartnerSubscription[];
  /** How fast deliveries go out, and how many may wait. @default {} */
  readonly delivery: WebhookPartnerDelivery;
  /** When a failed delivery is tried again, and when it is given up. @default {} */
  readonly retry: WebhookPartnerRetry;
  /**
   * Pauses of deliveries to a failing partner, or to one that responds with a Retry-After. After a pause, one attempt
   * at a time probes. @default {}
   */
  readonly circuitBreaker: WebhookPartnerCircuitBreaker;
  /** Records of deliveries that ended without success. @default {} */
  readonly deadLetter: WebhookPartnerDeadLetter;
  /** Networks beyond the public ones that the endpoint may be in, within the installation's policy. @default {} */
  readonly networks: WebhookPartnerNetworks;
  /** Active sends. Paused keeps everything and sends nothing. @default "Active" */
  readonly state: "Active" | "Paused";
}

/** The HTTP endpoint that receives the events. */
export interface WebhookPartnerEndpoint {
  /**
   * Absolute URL of the endpoint. Its path may hold {domain}, which becomes the first segment of the event type.
   * Without a path, or with / alone, the path is /webhooks/v1/{domain}. A query is for schemes other than HmacV1 and
   * may hold {domain} too; HttpMessageSignatures signs it. Its values are treated as secrets.
   */
  readonly url: string;
  /** Bound on one whole attempt, from the look-up of the name to the last byte of the answer. @default 10 */
  readonly timeoutSeconds: number;
  /**
   * Fixed headers of every request. Not for credentials, which everyone who may read this object would read, and not
   * the headers that the signing scheme or HTTP itself sets. @default []
   */
  readonly headers: readonly WebhookPartnerEndpointHeader[];
  /**
   * The entry of a Secret in the same namespace that holds the certificates, in PEM, that are trusted for the endpoint
   * instead of the system's roots.
   */
  readonly caBundleRef?: WebhookPartnerEndpointCaBundleRef;
  /**
   * A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the
   * endpoint.
   */
  readonly clientCertificateRef?: WebhookPartnerEndpointClientCertificateRef;
  /**
   * OAuth 2.0 client credentials: a token is fetched, kept until shortly before its end and sent with every delivery.
   * One that the endpoint rejects with 401 is fetched anew, once in an attempt. The client's credentials go into the
   * header, and into the form for a server that refuses them there.
   */
  readonly oauth2?: WebhookPartnerEndpointOauth2;
  /**
   * Handshake asks the endpoint with an OPTIONS request whether it wants deliveries, and how many a minute, before it
   * gets any, as CloudEvents' web hooks have it. One that does not consent gets nothing; its deliveries are tried again
   * by their schedule. @default "None"
   */
  readonly verification: "None" | "Handshake";
  /**
   * How long the recipient remembers event ids, at least. A replay of what is older could have its effect twice, so it
   * has to be forced. @default 259200
   */
  readonly idempotencySeconds: number;
  /**
   * Absolute URL that is told, signed like a delivery, when an event of the partner was handled by hand: the
   * recipient's /webhooks/ack. Without it the recipient is not told. A query is as in the endpoint's URL.
   */
  readonly ackUrl?: string;
}

/** One header. */
export interface WebhookPartnerEndpointHeader {
  /** Name of the header; upper and lower case are the same. */
  readonly name: string;
  /** Value of the header, visible ASCII. */
  readonly value: string;
}

/**
 * The entry of a Secret in the same namespace that holds the certificates, in PEM, that are trusted for the endpoint
 * instead of the system's roots.
 */
export interface WebhookPartnerEndpointCaBundleRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Name of the entry in the Secret. @default "ca.crt" */
  readonly key: string;
}

/**
 * A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the
 * endpoint.
 */
export interface WebhookPartnerEndpointClientCertificateRef {
  /** Name of the Secret. */
  readonly name: string;
}

/**
 * OAuth 2.0 client credentials: a token is fetched, kept until shortly before its end and sent with every delivery. One
 * that the endpoint rejects with 401 is fetched anew, once in an attempt. The client's credentials go into the header,
 * and into the form for a server that refuses them there.
 */
export interface WebhookPartnerEndpointOauth2 {
  /**
   * Absolute URL of the token endpoint; it is guarded like the endpoint itself. The values of a query are treated as
   * secrets.
   */
  readonly tokenUrl: string;
  /** Client id, visible ASCII. */
  readonly clientId: string;
  /** The entry of a Secret in the same namespace that holds the client secret. */
  readonly clientSecretRef: WebhookPartnerEndpointOauth2ClientSecretRef;
  /** Requested scopes. @default [] */
  readonly scopes: readonly string[];
  /** Bind the token to a key of the sending pod and prove the key with every request (RFC 9449). @default false */
  readonly dpop: boolean;
}

/** The entry of a Secret in the same namespace that holds the client secret. */
export interface WebhookPartnerEndpointOauth2ClientSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Name of the entry in the Secret. */
  readonly key: string;
}

/** How deliveries prove who sent them. */
export interface WebhookPartnerSigning {
  /**
   * HmacV1 is HMAC-SHA256 over timestamp, method, path and body hash, in X-Signature. StandardWebhooks is version 1.0.0
   * of that specification, v1 by a shared key and v1a by an Ed25519 key. HttpMessageSignatures is RFC 9421 by a private
   * key, whose public half the runtime serves. @default "HmacV1"
   */
  readonly scheme: "HmacV1" | "StandardWebhooks" | "HttpMessageSignatures";
  /**
   * Sign each delivery with every key that has not ended, for recipients that know only one at a time and look at each
   * signature; the newest key's comes first. @default false
   */
  readonly sideBySide: boolean;
  /** The first key signs; the recipient knows all of them. To rotate, put the new key first. */
  readonly keys: readonly WebhookPartnerSigningKey[];
}

/** One shared or private key. */
export interface WebhookPartnerSigningKey {
  /** Name of the key among the partner's keys. */
  readonly id: string;
  /**
   * The entry of a Secret in the same namespace that holds the key. HmacV1: at least 32 bytes. StandardWebhooks: whsec_
   * and base64, whsk_ and base64, an Ed25519 key in PEM, or at least 32 bytes, which sign as written even if they are
   * base64. HttpMessageSignatures: a key in PEM, of Ed25519, P-256 or P-384.
   */
  readonly secretRef: WebhookPartnerSigningKeySecretRef;
  /** Time in UTC after which the recipient forgets this key. */
  readonly notAfter?: string;
}

/**
 * The entry of a Secret in the same namespace that holds the key. HmacV1: at least 32 bytes. StandardWebhooks: whsec_
 * and base64, whsk_ and base64, an Ed25519 key in PEM, or at least 32 bytes, which sign as written even if they are
 * base64. HttpMessageSignatures: a key in PEM, of Ed25519, P-256 or P-384.
 */
export interface WebhookPartnerSigningKeySecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Name of the entry in the Secret. */
  readonly key: string;
}

/** One selection of events, which match when type, tenant and producer match. */
export interface WebhookPartnerSubscription {
  /** Name of the subscription among the partner's subscriptions. */
  readonly name: string;
  /** Patterns of event types. A segment * is any one segment; a last segment ** is one or more segments. */
  readonly types: readonly string[];
  /** Tenants whose events match. * is every tenant and is said explicitly; - is the events without a tenant. */
  readonly tenants: readonly string[];
  /** Producers whose events match; none named is every producer. @default [] */
  readonly producers: readonly string[];
}

/** How fast deliveries go out, and how many may wait. @default {} */
export interface WebhookPartnerDelivery {
  /** Attempts under way at once, over all pods. @default 64 */
  readonly maxInFlight: number;
  /** Attempts begun in a second, retries included. Without it there is no limit. */
  readonly ratePerSecond?: number;
  /** Attempts that may begin at once after a pause. Without it, as many as in one second. */
  readonly burst?: number;
  /**
   * What may wait for the partner, retries included. A delivery beyond it is kept as a dead letter at once, with the
   * reason backlog_full. @default {}
   */
  readonly maxBacklog: WebhookPartnerDeliveryMaxBacklog;
}

/**
 * What may wait for the partner, retries included. A delivery beyond it is kept as a dead letter at once, with the
 * reason backlog_full. @default {}
 */
export interface WebhookPartnerDeliveryMaxBacklog {
  /** Deliveries that may wait. @default 200000 */
  readonly messages: number;
  /** Bytes that may wait, judged by the mean size of the partner's deliveries. @default 268435456 */
  readonly bytes: number;
}

/** When a failed delivery is tried again, and when it is given up. @default {} */
export interface WebhookPartnerRetry {
  /**
   * Waits after attempt 1, 2 and so on. After the last of them the delivery is tried daily until maxAgeSeconds.
   * @default [5,15,30,60,120,300,600,1800,3600,10800,21600,43200,86400]
   */
  readonly scheduleSeconds: readonly number[];
  /** Age since the event was accepted at which the delivery is dead. @default 604800 */
  readonly maxAgeSeconds: number;
  /** Upper bound of the random addition to each wait, in percent of it. Nothing is subtracted. @default 10 */
  readonly jitterPercent: number;
}

/**
 * Pauses of deliveries to a failing partner, or to one that responds with a Retry-After. After a pause, one attempt at
 * a time probes. @default {}
 */
export interface WebhookPartnerCircuitBreaker {
  /** False never pauses deliveries after failures. A Retry-After still does. @default true */
  readonly enabled: boolean;
  /** Failed attempts in a row after which deliveries pause. @default 20 */
  readonly failures: number;
  /** First pause, in seconds. Each failed probe doubles it. @default 30 */
  readonly openSeconds: number;
  /** Longest pause, in seconds, also by a Retry-After. @default 600 */
  readonly maxOpenSeconds: number;
}

/** Records of deliveries that ended without success. @default {} */
export interface WebhookPartnerDeadLetter {
  /**
   * How long a dead letter is kept, in seconds; never longer than the installation keeps them. Without it, as long as
   * the installation does.
   */
  readonly retainSeconds?: number;
}

/** Networks beyond the public ones that the endpoint may be in, within the installation's policy. @default {} */
export interface WebhookPartnerNetworks {
  /** Blocks of addresses that are allowed though they are not public. @default [] */
  readonly allowCidrs: readonly string[];
  /** True allows http. @default false */
  readonly allowPlaintext: boolean;
}
