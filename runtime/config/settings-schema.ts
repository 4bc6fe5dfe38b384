import type { Settings } from "./settings.ts";

/** Asymmetric algorithms only: a shared-secret algorithm would let the holder of a public key forge tokens. */
export const tokenAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** What an issuer accepts that names no algorithms. */
export const defaultAlgorithms: readonly string[] = ["RS256", "ES256", "EdDSA"];

const daySeconds = 86_400;
const mebibyteBytes = 1024 * 1024;
const gibibyteBytes = 1024 * mebibyteBytes;
/** Ten years: a bound against typing errors. */
const ageSecondsMax = 3650 * daySeconds;

/** What holds for every setting that a file does not name. */
export const defaultSettings: Settings = {
  name: "heliograph",
  issuers: [],
  claims: {
    tenants: "tenants",
    regions: "regions",
    environments: "environments",
    metrics: "metrics",
    roles: "roles",
  },
  personalData: {
    forbiddenFields: [
      "account_number",
      "birth_date",
      "card_number",
      "cvc",
      "cvv",
      "date_of_birth",
      "document_number",
      "email",
      "email_address",
      "first_name",
      "full_name",
      "iban",
      "ip_address",
      "last_name",
      "national_id",
      "pan",
      "passport_number",
      "phone",
      "phone_number",
      "postal_address",
      "session_id",
      "ssn",
      "street_address",
      "user_id",
    ],
    allowedFields: [],
  },
  streams: {
    prefix: "hg",
    replicas: 1,
    events: { maxAgeSeconds: 21 * daySeconds, maxBytes: 2 * gibibyteBytes },
    deliveries: { maxBytes: 2 * gibibyteBytes },
    attempts: { maxAgeSeconds: 21 * daySeconds, maxBytes: gibibyteBytes },
    deadLetters: { maxAgeSeconds: 14 * daySeconds, maxBytes: gibibyteBytes },
  },
};

function text(description: string, maxLength: number, pattern?: string): object {
  return { description, type: "string", minLength: 1, maxLength, ...(pattern === undefined ? {} : { pattern }) };
}

function texts(description: string, items: object, bounds: { minItems?: number; maxItems: number }): object {
  return { description, type: "array", items, uniqueItems: true, ...bounds };
}

/** A closed object whose absent properties take their defaults. */
function section(description: string, properties: Record<string, object>, required: readonly string[] = []): object {
  return { description, type: "object", additionalProperties: false, properties, required };
}

const maxBytes = {
  description: "Size of the stream, in bytes.",
  type: "integer",
  minimum: mebibyteBytes,
  maximum: 1024 * 1024 * mebibyteBytes,
};

const retention = (what: string): object =>
  section(`How much is kept of ${what}.`, {
    maxAgeSeconds: { description: "Age, in seconds.", type: "integer", minimum: 3600, maximum: ageSecondsMax },
    maxBytes,
  });

const grantNames = (description: string): object => texts(description, text("A name.", 256), { maxItems: 1024 });

const subjectGrant = section(
  "What a token of one subject may do beyond what its claims say.",
  {
    subject: text("Exact value of the sub claim.", 512),
    scopes: grantNames("Scopes of the subject's tokens, besides those that they name."),
    tenants: grantNames("Tenants of the subject's tokens, besides those that they name."),
    roles: grantNames("Roles of the subject's tokens, besides those that they name."),
  },
  ["subject", "scopes", "tenants"],
);

const issuer = section(
  "One trusted issuer of tokens. Its keys come from exactly one of jwksUrl and jwksFile.",
  {
    issuer: text("Exact value of the iss claim.", 512),
    audiences: texts("Accepted values of the aud claim.", text("An audience.", 256), { minItems: 1, maxItems: 16 }),
    jwksUrl: text("Where the keys are published; https, or http on this very host.", 2048),
    jwksCaFile: text("PEM file of the authorities that prove the host of jwksUrl; without it those that Node trusts.", 4096),
    jwksTokenFile: text("File of a bearer token that the host of jwksUrl asks for.", 4096),
    jwksFile: text("File that holds the keys, as a JWK set.", 4096),
    algorithms: texts("Accepted signature algorithms.", { enum: tokenAlgorithms }, { minItems: 1, maxItems: 11 }),
    grants: {
      description: "Rights by subject, for an issuer whose tokens cannot carry any, such as a Kubernetes cluster's.",
      type: "array",
      maxItems: 256,
      items: subjectGrant,
    },
  },
  ["issuer", "audiences"],
);

const claimName = (grant: string): object => text(`Name of the claim that carries ${grant}.`, 256);
const fieldNames = (description: string): object => texts(description, text("A field.", 256), { maxItems: 1024 });

/** JSON Schema (draft-07) of the settings file; {@link defaultSettings} fills what is absent. */
export const settingsSchema: object = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Heliograph installation settings",
  ...section("What this installation is.", {
    name: text("Name of the installation; names the producer of events without one.", 64, "^[A-Za-z0-9][A-Za-z0-9._-]*$"),
    issuers: { description: "Who may issue tokens.", type: "array", maxItems: 32, items: issuer },
    claims: section("Names of the claims that carry grants.", {
      tenants: claimName("tenants"),
      regions: claimName("regions"),
      environments: claimName("environments"),
      metrics: claimName("metric ids"),
      roles: claimName("roles"),
    }),
    personalData: section("What no event may carry.", {
      forbiddenFields: fieldNames("Names of fields at any depth of data; replaces the default list."),
      allowedFields: fieldNames("Dotted paths below data whose digits are never taken for a card number."),
    }),
    streams: section("Sizes of the JetStream streams.", {
      prefix: text("First token of every subject; in capitals, of every stream name.", 16, "^[a-z][a-z0-9]*$"),
      replicas: { description: "Copies of every stream.", enum: [1, 3, 5] },
      events: retention("events"),
      deliveries: section("How much may wait for delivery.", { maxBytes }),
      attempts: retention("attempts"),
      deadLetters: retention("dead letters"),
    }),
  }),
};
