import { setImmediate } from "node:timers/promises";
import type { EventTypeDetail, EventTypeVersion } from "../../../api/events.ts";
import type { JsonSchema } from "../../../api/schemas.ts";
import { interfaceVersion } from "./changelog.ts";
import { type DeliveryFormat, deliveryFormats, headersOf, type SchemeName, schemes } from "./delivery-formats.ts";

/** What an AsyncAPI document describes. */
export interface AsyncApiContent {
  /** By name; with the fields that the reader may see. */
  readonly types: Iterable<EventTypeDetail>;
  /** Signature schemes of the reader's partners. */
  readonly schemes: readonly SchemeName[];
  /** Formats that the reader's partners get. */
  readonly formats: readonly DeliveryFormat[];
}

const description = [
  "Events that Heliograph sends to the endpoints of partners, one in each POST. Heliograph is the application of this",
  "document, so partners implement the opposite of its operations. A status of 200 to 299 acknowledges an event.",
].join(" ");

/**
 * An AsyncAPI 3.0 document of what a reader may receive: a channel for each type, a message for each version. Source:
 * AsyncAPI Specification 3.0.0.
 */
export async function asyncApiDocument({ types, schemes: used, formats: sent }: AsyncApiContent): Promise<object> {
  const [channels, operations, messages]: [Named, Named, Named] = [{}, {}, {}];
  const schemas: Named = { DeliveryHeaders: headersOf(used) };
  const security = used.map((name) => ({ $ref: `#/components/securitySchemes/${name}` }));
  for (const type of types) {
    const own = messagesOf(type, sent, schemas);
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

function messagesOf(type: EventTypeDetail, sent: readonly DeliveryFormat[], schemas: Named): readonly NamedMessage[] {
  // Without a partner, the usual format is shown.
  const shown = sent.length === 0 ? (["Envelope"] as const) : sent;
  return type.versions.flatMap((version) => {
    const data = dataSchema(version.schema, `${type.type}.${version.version}`, schemas);
    return shown.map((format) => messageOf(type, version, data, format));
  });
}

function messageOf(
  { type, description: about }: EventTypeDetail,
  version: EventTypeVersion,
  data: JsonSchema,
  format: DeliveryFormat,
): NamedMessage {
  const { contentType, suffix, bodyOf, exampleOf } = deliveryFormats[format];
  const examples = version.examples.filter(isPortable).map((one) => ({
    payload: exampleOf(type, version.version, one),
  }));
  const message = {
    name: type,
    title: `${type} ${version.version}`,
    summary: about,
    ...endOf(version),
    contentType,
    headers: { $ref: "#/components/schemas/DeliveryHeaders" },
    payload: bodyOf(type, version.version, data),
    ...(examples.length === 0 ? {} : { examples }),
  };
  return { id: `${type}.${version.version}${suffix}`, version: `${version.version}${suffix}`, message };
}

function endOf({ state, deprecated_at: deprecated, sunset_at: sunset }: EventTypeVersion): object {
  if (state === "Active") return {};
  const end = sunset === undefined ? "" : `; new events are not accepted from ${sunset}`;
  return { description: `${state}, deprecated since ${deprecated}${end}`, tags: [{ name: state.toLowerCase() }] };
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
