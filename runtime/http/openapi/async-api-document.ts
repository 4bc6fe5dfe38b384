import { setImmediate } from "node:timers/promises";
import type { EventTypeDetail, EventTypeVersion } from "../../../api/events.ts";
import type { JsonSchema } from "../../../api/schemas.ts";
import { interfaceVersion } from "./changelog.ts";

/** What an AsyncAPI document describes. */
export interface AsyncApiContent {
  /** By name; with the fields that the reader may see. */
  readonly types: Iterable<EventTypeDetail>;
  /** Signature schemes of the reader's partners. */
  readonly schemes: readonly SchemeName[];
}

type SchemeName = keyof typeof schemes;

const text = (description: string, keywords: JsonSchema = {}): JsonSchema => ({
  type: "string",
  description,
  ...keywords,
});

/** Security schemes by signature scheme, with the headers that each adds. */
const schemes = {
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
  "Content-Type": text("application/json", { const: "application/json" }),
  "Accept-Encoding": text("identity", { const: "identity" }),
};
const optionalHeaders: ReadonlySet<string> = new Set(["X-Webhook-Replay", "traceparent", "WebHook-Request-Origin"]);

const description = [
  "Events that Heliograph sends to the endpoints of partners, one in each POST. Heliograph is the application of this",
  "document, so partners implement the opposite of its operations. A status of 200 to 299 acknowledges an event.",
].join(" ");

/**
 * An AsyncAPI 3.0 document of what a reader may receive: a channel for each type, a message for each version. Source:
 * AsyncAPI Specification 3.0.0.
 */
export async function asyncApiDocument({ types, schemes: used }: AsyncApiContent): Promise<object> {
  const [channels, operations, messages]: [Named, Named, Named] = [{}, {}, {}];
  const schemas: Named = { DeliveryHeaders: headersOf(used) };
  const security = used.map((name) => ({ $ref: `#/components/securitySchemes/${name}` }));
  for (const type of types) {
    const own = messagesOf(type, schemas);
    Object.assign(messages, Object.fromEntries(own.map(({ id, message }) => [id, message])));
    channels[type.type] = channelOf(type, own);
    operations[`send.${type.type}`] = {
      action: "send",
      channel: { $ref: `#/channels/${type.type}` },
      summary: type.description,
      ...(security.length === 0 ? {} : { security }),
      bindings: { http: { method: "POST", bindingVersion: "0.3.0" } },
    };
    // Other requests have their turn between two types.
    await setImmediate();
  }
  return {
    asyncapi: "3.0.0",
    info: { title: "Heliograph events", version: interfaceVersion, description },
    defaultContentType: "application/json",
    channels,
    operations,
    components: { messages, schemas, securitySchemes: securityOf(used) },
  };
}

type Named = Record<string, object>;

interface NamedMessage {
  readonly id: string;
  readonly version: string;
  readonly message: object;
}

function headersOf(used: readonly SchemeName[]): JsonSchema {
  const signatures = used.map((name) => Object.entries<JsonSchema>(schemes[name].headers));
  // Every partner has one scheme.
  const [only = []] = signatures.length === 1 ? signatures : [];
  const required = [
    ...Object.keys(headers).filter((name) => !optionalHeaders.has(name)),
    ...only.map(([name]) => name),
  ];
  return { type: "object", properties: { ...headers, ...Object.fromEntries(signatures.flat()) }, required };
}

function securityOf(used: readonly SchemeName[]): object {
  const named = used.map(
    (name) => [name, { type: schemes[name].type, description: schemes[name].description }] as const,
  );
  return Object.fromEntries(named);
}

function channelOf(
  { type, description: about, owner, contact }: EventTypeDetail,
  own: readonly NamedMessage[],
): object {
  const where = contact === undefined ? "" : ` (${contact})`;
  const references = own.map(({ id, version }) => [version, { $ref: `#/components/messages/${id}` }] as const);
  return {
    // The URL is that of the partner.
    address: null,
    title: type,
    description: `${about}\n\nOwner: ${owner}${where}`,
    messages: Object.fromEntries(references),
  };
}

function messagesOf({ type, description: about, versions }: EventTypeDetail, schemas: Named): readonly NamedMessage[] {
  return versions.map((version) => {
    const id = `${type}.${version.version}`;
    const data = dataSchema(version.schema, id, schemas);
    const examples = version.examples.filter(isPortable);
    const message = {
      name: type,
      title: `${type} ${version.version}`,
      summary: about,
      ...endOf(version),
      contentType: "application/json",
      headers: { $ref: "#/components/schemas/DeliveryHeaders" },
      payload: envelopeOf(type, version.version, data),
      ...(examples.length === 0
        ? {}
        : { examples: examples.map((example) => exampleOf(type, version.version, example)) }),
    };
    return { id, version: version.version, message };
  });
}

function endOf({ state, deprecated_at: deprecated, sunset_at: sunset }: EventTypeVersion): object {
  if (state === "Active") return {};
  const end = sunset === undefined ? "" : `; new events are not accepted from ${sunset}`;
  return { description: `${state}, deprecated since ${deprecated}${end}`, tags: [{ name: state.toLowerCase() }] };
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

function exampleOf(type: string, version: string, data: object): object {
  return { payload: { event_id: "evt-1", type, version, ts: `${version}T12:00:00.000Z`, data, attempt: 1 } };
}

/** Tools read a member `$ref` of any value as a reference, which may lead to another server. */
const referenceName = "$ref";
/** Tools that copy objects member by member change the prototype of the copy. */
const prototypeName = "__proto__";

function isPortable(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  const isNamed = Object.hasOwn(value, referenceName) || Object.hasOwn(value, prototypeName);
  return !isNamed && Object.values(value).every(isPortable);
}

/** The schema with its definitions among those of the document. */
function dataSchema(schema: JsonSchema, prefix: string, schemas: Named): JsonSchema {
  const definitions = (schema["$defs"] ?? {}) as Readonly<Record<string, unknown>>;
  const move = (name: string): string => {
    const own = `${prefix}.${name}`;
    if (!Object.hasOwn(schemas, own)) {
      schemas[own] = {};
      schemas[own] = moved(definitions[name], move);
    }
    return `#/components/schemas/${own}`;
  };
  return moved(schema, move);
}

const mapKeywords: ReadonlySet<string> = new Set(["properties"]);
const listKeywords: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf"]);
const schemaKeywords: ReadonlySet<string> = new Set(["items", "additionalProperties"]);
/** Values of people, in which tools may find references, and what only whole documents have. */
const droppedKeywords: ReadonlySet<string> = new Set(["$schema", "$defs", "$comment", "default", "examples"]);

function moved(schema: unknown, move: (name: string) => string): JsonSchema {
  const one = (value: unknown): unknown => (typeof value === "object" ? moved(value, move) : value);
  const entries = Object.entries((schema ?? {}) as JsonSchema).flatMap(([keyword, value]): [string, unknown][] => {
    if (droppedKeywords.has(keyword)) return [];
    if (keyword === "$ref") return [[keyword, move(String(value).slice("#/$defs/".length))]];
    if (schemaKeywords.has(keyword)) return [[keyword, one(value)]];
    if (listKeywords.has(keyword)) return [[keyword, (value as readonly unknown[]).map(one)]];
    if (!mapKeywords.has(keyword)) return [[keyword, value]];
    const members = Object.entries(value as object).filter(([name]) => name !== prototypeName);
    return [[keyword, Object.fromEntries(members.map(([name, inner]) => [name, one(inner)]))]];
  });
  return Object.fromEntries(entries);
}
