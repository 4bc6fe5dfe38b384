import { queryDeadlineMsDefault } from "../../../crds/config.ts";
import {
  certificateForms,
  eventIdForms,
  idChecks,
  undeclaredEvents,
  partnersClaims,
  type Settings,
  tlsVersions,
  tokenBindings,
  tokenTypes,
} from "./settings.ts";

/** Asymmetric algorithms only: a shared-secret algorithm would let the holder of a public key forge tokens. */
const tokenAlgorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

/** Algorithms of an issuer without its own. */
export const defaultAlgorithms: readonly string[] = ["RS256", "ES256", "EdDSA"];

/** Below what the server itself gives a response. */
const deadlineMsMax = 25_000;
const daySeconds = 86_400;
const mebibyteBytes = 1024 * 1024;
const gibibyteBytes = 1024 * mebibyteBytes;
/** Ten years: a bound against typing errors. */
const ageSecondsMax = 3650 * daySeconds;

/** Two consumers each stay below what a stream may have. */
const ownLanesMaxMax = 8_000;

/** Defaults of all settings. */
export const defaultSettings: Settings = {
  name: "heliograph",
  issuers: [],
  claims: {
    tenants: "tenants",
    regions: "regions",
    environments: "environments",
    metrics: "metrics",
    roles: "roles",
    partners: "partners",
  },
  tokenBinding: "None",
  partnersClaim: "Optional",
  publicUrls: [],
  personalData: {
    forbiddenFields: (
      "account_number birth_date card_number cvc cvv date_of_birth document_number email email_address " +
      "first_name full_name iban ip_address last_name national_id pan passport_number phone phone_number " +
      "postal_address session_id ssn street_address user_id"
    ).split(" "),
    allowedFields: [],
    allowedForTypes: [],
  },
  events: { idForms: [], idCheck: "Installation", undeclared: "Accept" },
  streams: {
    prefix: "hg",
    replicas: 1,
    events: { maxAgeSeconds: 21 * daySeconds, maxBytes: 2 * gibibyteBytes },
    deliveries: { maxBytes: 2 * gibibyteBytes },
    attempts: { maxAgeSeconds: 21 * daySeconds, maxBytes: gibibyteBytes },
    deadLetters: { maxAgeSeconds: 14 * daySeconds, maxBytes: gibibyteBytes },
  },
  delivery: { removedAfterSeconds: 600 },
  metrics: { deadlineMs: queryDeadlineMsDefault },
  console: { enabled: true },
};

function text(description: string, maxLength: number, pattern?: string): object {
  return { description, type: "string", minLength: 1, maxLength, ...(pattern === undefined ? {} : { pattern }) };
}

function word(description: string, words: readonly unknown[]): object {
  return { description, enum: words };
}

function integer(description: string, minimum: number, maximum: number): object {
  return { description, type: "integer", minimum, maximum };
}

function texts(description: string, items: object, bounds: { minItems?: number; maxItems: number }): object {
  return { description, type: "array", items, uniqueItems: true, ...bounds };
}

/** A closed object whose absent properties take their defaults. */
function section(description: string, properties: Record<string, object>, required: readonly string[] = []): object {
  return { description, type: "object", additionalProperties: false, properties, required };
}

const maxBytes = integer("Maximum size of the stream, in bytes.", mebibyteBytes, 1024 * gibibyteBytes);

const retention = (what: string): object =>
  section(`Retention of ${what}.`, {
    maxAgeSeconds: integer("Maximum age, in seconds.", 3600, ageSecondsMax),
    maxBytes,
  });

const grantNames = (description: string): object => texts(description, text("A name.", 256), { maxItems: 1024 });

const subjectGrant = section(
  "Permissions of a subject's tokens, in addition to their claims.",
  {
    subject: text("Exact value of the sub claim.", 512),
    scopes: grantNames("Scopes of the subject's tokens, in addition to their own."),
    tenants: grantNames("Tenants of the subject's tokens, in addition to their own."),
    roles: grantNames("Roles of the subject's tokens, in addition to their own."),
    partners: texts(
      "Webhook partners of the subject's tokens, in addition to their own; access is limited to these.",
      text(
        "A partner as namespace/name, or * for all partners.",
        512,
        String.raw`^(\*|[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*)$`,
      ),
      { maxItems: 1024 },
    ),
  },
  ["subject", "scopes", "tenants"],
);

const issuer = section(
  "A trusted token issuer, with exactly one of jwksUrl and jwksFile.",
  {
    issuer: text("Exact value of the iss claim; defaults to that of the token in jwksTokenFile.", 512),
    audiences: texts("Accepted values of the aud claim.", text("An audience.", 256), { minItems: 1, maxItems: 16 }),
    jwksUrl: text("URL of the published keys; https, or http on this host.", 2048),
    jwksCaFile: text("PEM file of the CAs for the host of jwksUrl; defaults to those that Node trusts.", 4096),
    jwksTokenFile: text("File of a bearer token for the host of jwksUrl.", 4096),
    jwksFile: text("File with the keys, as a JWK set.", 4096),
    algorithms: texts("Accepted signature algorithms.", { enum: tokenAlgorithms }, { minItems: 1, maxItems: 11 }),
    tokenBinding: word(
      "Required binding of this issuer's tokens; defaults to tokenBinding of the settings.",
      tokenBindings,
    ),
    tokenType: word(
      "AccessToken accepts only tokens with the typ header at+jwt (RFC 9068); by default, all tokens are " +
        "accepted unless typ states a different purpose.",
      tokenTypes,
    ),
    grants: {
      description: "Permissions by subject, for an issuer whose tokens contain none, such as a Kubernetes cluster.",
      type: "array",
      maxItems: 256,
      items: subjectGrant,
    },
  },
  ["audiences"],
);

const claimName = (grant: string): object => text(`Name of the claim with the ${grant}.`, 256);
const claims = section(
  "Names of the claims that contain permissions; a name that starts with / is a JSON pointer into nested claims.",
  {
    client: text("Name of the claim that identifies the client; defaults to client_id, then azp, then sub.", 256),
    scopes: text("Name of the claim with the scopes; defaults to scope and scp.", 256),
    tenants: claimName("tenants"),
    regions: claimName("regions"),
    environments: claimName("environments"),
    metrics: claimName("metric ids"),
    roles: claimName("roles"),
    partners: claimName("webhook partners, as namespace/name"),
  },
);

const tls = section(
  "TLS of the public port; client certificates are requested but optional.",
  {
    certFile: text("PEM file of the certificate and its chain; reloaded when it changes, like the other files.", 4096),
    keyFile: text("PEM file of the private key.", 4096),
    clientCaFile: text(
      "PEM file of the CAs of accepted client certificates; by default, all certificates are accepted, " +
        "identified by thumbprint.",
      4096,
    ),
    minVersion: word("Minimum TLS version; defaults to TLSv1.2.", tlsVersions),
  },
  ["certFile", "keyFile"],
);

const trustedProxies = section(
  "Proxies that terminate TLS and forward the client's certificate.",
  {
    addresses: texts(
      "CIDR blocks of their addresses; the header is ignored from other addresses.",
      text("A CIDR block.", 64),
      {
        minItems: 1,
        maxItems: 64,
      },
    ),
    certificateHeader: text(
      "Header with the certificate; defaults to X-Forwarded-Client-Cert, X-SSL-Client-Cert or Client-Cert, " +
        "depending on the format.",
      128,
      "^[A-Za-z0-9-]+$",
    ),
    certificateForm: word(
      [
        "Its format. Xfcc: a single element, from an Envoy with SANITIZE_SET; a header with more elements is ignored.",
        "XfccAppend: the last element, from an Envoy with APPEND_FORWARD; a SAN that contains a comma can forge it.",
        "EscapedPem: as nginx writes it. ClientCert: RFC 9440.",
      ].join(" "),
      certificateForms,
    ),
  },
  ["addresses", "certificateForm"],
);

const fieldNames = (description: string): object => texts(description, text("A field.", 256), { maxItems: 1024 });

const allowedForTypes = section(
  "Fields of some event types whose digits are never treated as a card number.",
  {
    types: texts("Event types, or patterns such as order.*.", text("A type or pattern.", 128), {
      minItems: 1,
      maxItems: 64,
    }),
    fields: texts("Dotted paths in the event, such as data.order_no or event_id.", text("A field.", 256), {
      minItems: 1,
      maxItems: 1024,
    }),
  },
  ["types", "fields"],
);

/** JSON Schema (draft-07) of the settings file; {@link defaultSettings} fills what is absent. */
export const settingsSchema: object = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Heliograph installation settings",
  ...section("Settings of this installation.", {
    name: text("Name of the installation, and producer of events without one.", 64, "^[A-Za-z0-9][A-Za-z0-9._-]*$"),
    issuers: { description: "Trusted token issuers.", type: "array", maxItems: 32, items: issuer },
    claims,
    tokenBinding: word(
      "Required binding of tokens: None, Certificate (RFC 8705), Key (RFC 9449) or Any (either of both).",
      tokenBindings,
    ),
    partnersClaim: word(
      "Required rejects tokens without a partners claim on webhook routes; Optional gives them access to all partners.",
      partnersClaims,
    ),
    residency: text(
      "Location of the data in NATS: responses of stores with a different residency are not shared through it. " +
        "If absent, all are shared.",
      64,
      "^[A-Za-z0-9][A-Za-z0-9._-]*$",
    ),
    publicUrls: texts(
      "Public origins of the API, which DPoP proofs (RFC 9449) must match; defaults to the Host header.",
      text("An origin such as https://api.example.com.", 512, "^https?://[^/]+$"),
      { maxItems: 16 },
    ),
    tls,
    trustedProxies,
    personalData: section("Personal data that events must not contain.", {
      forbiddenFields: fieldNames("Names of fields at any depth of data; replaces the default list."),
      allowedFields: fieldNames("Dotted paths below data whose digits are never treated as a card number."),
      allowedForTypes: {
        description: "Allowed fields for some event types.",
        type: "array",
        maxItems: 256,
        items: allowedForTypes,
      },
    }),
    events: section("Requirements on events.", {
      idForms: texts(
        "Accepted formats of event ids: Uuid, Ulid, or TenantPrefix (the tenant, one of . : /, and at least one " +
          "more character); by default, all ids are accepted.",
        { enum: eventIdForms },
        { maxItems: 3 },
      ),
      idCheck: word(
        "Where the id of a new event must be unused: Installation (in all tenants, slower with more tenants), or " +
          "Tenant (an id that begins with its tenant is looked up in that tenant only, as fast with any number of " +
          "tenants; needs TenantPrefix in idForms, and no events from before that).",
        idChecks,
      ),
      undeclared: word(
        "Events whose type or version no event catalog declares: Accept, Warn (they are counted and logged) or Reject.",
        undeclaredEvents,
      ),
    }),
    streams: section("Sizes of the JetStream streams.", {
      prefix: text("Prefix of all subjects and, in capitals, of all stream names.", 16, "^[a-z][a-z0-9]*$"),
      replicas: word("Number of replicas of each stream.", [1, 3, 5]),
      events: retention("events"),
      deliveries: section("Maximum size of pending deliveries, except those to held partners.", {
        maxBytes,
      }),
      attempts: retention("attempts"),
      deadLetters: retention("dead letters"),
    }),
    delivery: section("Deliveries to partners.", {
      ownLanesMax: integer(
        "Number of partners with a dedicated lane; others share lanes. Defaults to 800, or 200 if streams have " +
          "several replicas.",
        1,
        ownLanesMaxMax,
      ),
      removedAfterSeconds: integer(
        "Time from the deletion of a partner until its pending deliveries become dead letters, in seconds.",
        1,
        30 * daySeconds,
      ),
    }),
    metrics: section("Metrics queries.", {
      deadlineMs: integer(
        "Timeout for all stores of a query, in milliseconds; keep it below the timeout of clients. It also " +
          "limits timeoutSeconds of stores.",
        100,
        deadlineMsMax,
      ),
      webIdentity: section(
        "Identity with which stores assume roles of AWS.",
        {
          tokenFile: text("File of the token; read again for each exchange.", 512, "^/"),
          stsUrl: text(
            "URL of the Security Token Service; defaults to that of the store's region.",
            512,
            "^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?/?$",
          ),
        },
        ["tokenFile"],
      ),
    }),
    console: section("The console at /console.", {
      enabled: { description: "If false, /console returns 404.", type: "boolean" },
      issuer: text("Issuer for signing in: one of issuers, with tokenBinding Key.", 512),
      clientId: text("Client id of the console at that issuer: a public client.", 256, "^[!-~]+$"),
      scopes: text(
        "Scopes that the console requests, separated by spaces; defaults to the issuer's default scopes.",
        2048,
        "^[!#-\\[\\]-~]+(?: [!#-\\[\\]-~]+)*$",
      ),
    }),
  }),
};
