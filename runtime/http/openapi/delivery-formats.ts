import type { JsonSchema } from "../../../api/schemas.ts";

export type SchemeName = keyof typeof schemes;
export type DeliveryFormat = keyof typeof deliveryFormats;

const text = (description: string, keywords: JsonSchema = {}): JsonSchema => ({
  type: "string",
  description,
  ...keywords,
});

/** Security schemes by signature scheme, with the headers that each adds. */
export const schemes = {
  HmacV1: {
    type: "symmetricEncryption",
    description: "HMAC-SHA256 of X-Timestamp, method, path and body with a shared key, in X-Signature",
    headers: { "X-Signature": text("One or more signatures, separated by commas") },
  },
  StandardWebhooks: {
    type: "symmetricEncryption",
    description: "Standard Webhooks: a signature of id, timestamp and body, in webhook-signature",
    headers: {
      "webhook-id": text("Id of the event"),
      "webhook-timestamp": text("Time of the attempt in Unix seconds"),
      "webhook-signature": text("One or more signatures, separated by spaces"),
    },
  },
  HttpMessageSignatures: {
    type: "asymmetricEncryption",
    description: "RFC 9421: signatures with the keys of /webhooks/partners/{namespace}/{name}/jwks.json",
    headers: {
      "Content-Digest": text("Digest of the body (RFC 9530)"),
      "Signature-Input": text("What each signature covers"),
      Signature: text("The signatures"),
    },
  },
} as const;

/** Headers of every delivery. `docs/how-to/receive-webhooks.md` lists the same. */
const headers = {
  "X-Timestamp": text("Time of the attempt", { format: "date-time" }),
  "X-Event-Id": text("The event_id of the body"),
  "X-Attempt": text("The attempt of the body", { pattern: "^[0-9]+$" }),
  "X-Webhook-Producer": text("The producer of the event, or the name of the installation"),
  "X-Webhook-Replay": text("Id of the replay; only in replays"),
  traceparent: text("W3C trace context of the attempt"),
  "WebHook-Request-Origin": text("Name of the installation; only if the sender requires consent"),
  "User-Agent": text("Heliograph/ and a version"),
  "Content-Type": text("Media type of the format"),
  "Accept-Encoding": text("identity", { const: "identity" }),
};
/** Bodies of deliveries: media type, end of the names of messages, and schema. */
export const deliveryFormats = {
  Envelope: { contentType: "application/json", suffix: "", bodyOf: envelopeOf, exampleOf: envelopeExample },
  CloudEvents: {
    contentType: "application/cloudevents+json; charset=UTF-8",
    suffix: ".cloudevents",
    bodyOf: cloudEventOf,
    exampleOf: cloudEventExample,
  },
};

const optionalHeaders: ReadonlySet<string> = new Set(["X-Webhook-Replay", "traceparent", "WebHook-Request-Origin"]);

/** The schema of the headers of deliveries with some signature schemes. */
export function headersOf(used: readonly SchemeName[]): JsonSchema {
  const signatures = used.map((name) => Object.entries<JsonSchema>(schemes[name].headers));
  // Every partner has one scheme.
  const [only = []] = signatures.length === 1 ? signatures : [];
  const required = [
    ...Object.keys(headers).filter((name) => !optionalHeaders.has(name)),
    ...only.map(([name]) => name),
  ];
  return { type: "object", properties: { ...headers, ...Object.fromEntries(signatures.flat()) }, required };
}

function envelopeOf(type: string, version: string, data: JsonSchema): JsonSchema {
  const needsData = Array.isArray(data["required"]) && data["required"].length > 0;
  return {
    type: "object",
    required: ["event_id", "type", "version", "ts", "attempt", ...(needsData ? ["data"] : [])],
    properties: {
      event_id: text("Names the event, the same in every attempt and replay"),
      type: { type: "string", const: type },
      version: { type: "string", const: version },
      ts: text("Time of the event", { format: "date-time" }),
      producer: text("System that sent the event"),
      tenant: text("Tenant of the event"),
      data,
      attempt: { type: "integer", minimum: 1, description: "Number of the attempt" },
    },
  };
}

function envelopeExample(type: string, version: string, data: object): object {
  return { event_id: "evt-1", type, version, ts: `${version}T12:00:00.000Z`, data, attempt: 1 };
}

function cloudEventOf(type: string, version: string, data: JsonSchema): JsonSchema {
  const needsData = Array.isArray(data["required"]) && data["required"].length > 0;
  return {
    type: "object",
    required: ["specversion", "id", "source", "type", "time", "version", "attempt", ...(needsData ? ["data"] : [])],
    properties: {
      specversion: { type: "string", const: "1.0" },
      id: text("Names the event, the same in every attempt and replay"),
      source: text("Producer of the event, or the name of the installation", { format: "uri-reference" }),
      type: { type: "string", const: type },
      time: text("Time of the event", { format: "date-time" }),
      version: { type: "string", const: version },
      tenant: text("Tenant of the event"),
      datacontenttype: { type: "string", const: "application/json" },
      data,
      attempt: { type: "integer", minimum: 1, description: "Number of the attempt" },
    },
  };
}

function cloudEventExample(type: string, version: string, data: object): object {
  const time = `${version}T12:00:00.000Z`;
  const own = { specversion: "1.0", id: "evt-1", type, time, version, source: "payouts" };
  return { ...own, datacontenttype: "application/json", data, attempt: 1 };
}
