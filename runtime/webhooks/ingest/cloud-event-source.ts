import { ApiError, type FieldError, renameFields } from "../../errors/api-error.ts";
import { eachMember, valueEnd } from "../../json/json-pointers.ts";
import { eventBytesMax, eventText, noTenant } from "../events/envelope.ts";
import { anyTenant } from "../ids.ts";
import {
  attributeOf,
  attributeProblems,
  extensionProblems,
  isJsonMediaType,
  keptAttributes,
  mediaTypeOf,
  problem,
  textOf,
  utcTime,
  versionOf,
  type Members,
} from "./attribute-problems.ts";
import type { EncodedEvent, EventSource } from "./ingest.ts";
import { isBatch, splitBatch } from "./ingest-batch.ts";

/** Headers by name in lower case, each with all its values. */
export type HeaderValues = Readonly<Record<string, readonly string[] | undefined>>;

/** Media types of CloudEvents in structured mode. Source: CloudEvents JSON format 1.0 §3 and §4. */
const [structuredType, batchType] = ["application/cloudevents+json", "application/cloudevents-batch+json"] as const;
const jsonType = "application/json";
/** Detail of errors that already name attributes. */
const invalid = "The CloudEvent is not valid";
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/u;
const problemsMax = 20;
const notInHeaders: ReadonlySet<string> = new Set(["data", "data_base64", "datacontenttype"]);
const headerPrefix = "ce-";
/** Any of these headers makes a request a CloudEvent in binary mode. */
const binaryHeaders = ["ce-specversion", "ce-id", "ce-source", "ce-type"] as const;

/** A request that may hold CloudEvents. */
interface EventRequest {
  readonly headers: HeaderValues;
  readonly body: Uint8Array;
  /** Tenants of the caller. An event that names no tenant belongs to the only one. */
  readonly tenants: readonly string[];
}

/**
 * The CloudEvent of a request, or its list of CloudEvents, by the media type and headers. Undefined for a request in
 * the default format. Source: CloudEvents HTTP binding 1.0 §3, JSON format 1.0.
 *
 * @throws ApiError `unsupported_media_type`, and those of a batch
 */
export function cloudEventSource({
  headers,
  body,
  tenants,
}: EventRequest): EventSource | readonly EventSource[] | undefined {
  const [mediaType = jsonType] = headers["content-type"] ?? [];
  const format = mediaTypeOf(mediaType);
  const tenant = onlyTenant(tenants);
  if (format === batchType) {
    rejectCharset(mediaType);
    if (!isBatch(body)) throw new ApiError("invalid_json", "A batch must be a JSON array of events");
    return splitBatch(body).map((item) => encoded(() => membersOf(item), tenant));
  }
  if (format === structuredType) {
    rejectCharset(mediaType);
    return encoded(() => membersOf(body), tenant);
  }
  if (isBinaryMode(headers)) return encoded(() => membersOfHeaders(headers, body), tenant);
  if (format === jsonType) return undefined;
  throw new ApiError("unsupported_media_type", `Send events as ${jsonType}, ${structuredType} or ${batchType}.`);
}

/** True when headers hold the attributes of the event in the body. */
export function isBinaryMode(headers: HeaderValues): boolean {
  return binaryHeaders.some((name) => headers[name] !== undefined);
}

function rejectCharset(mediaType: string): void {
  if (!isJsonMediaType(mediaType)) throw new ApiError("unsupported_media_type", "Send CloudEvents in UTF-8.");
}

/** Undefined for several tenants, for all of them, and for events without a tenant. */
function onlyTenant([only, ...more]: readonly string[]): string | undefined {
  return more.length > 0 || only === anyTenant || only === noTenant ? undefined : only;
}

function encoded(members: () => Members, tenant: string | undefined): EncodedEvent {
  return { decode: () => envelopeOf(members(), tenant), describe };
}

/** Names attributes in place of the fields of the envelope. */
function describe(error: ApiError): ApiError {
  const errors = error.errors.map((item) => {
    const attribute = attributeOf.get(item.field);
    return attribute === undefined ? item : { ...item, detail: item.detail.replace(item.field, attribute) };
  });
  if (errors.length === 0 || error.message === invalid) return error;
  const { code, message, cause } = error;
  return renameFields(new ApiError(code, message, { errors, cause }), (field) => attributeOf.get(field) ?? field);
}

/** @throws ApiError `body_too_large`, `invalid_utf8`, `invalid_json`, `invalid_envelope` */
function membersOf(body: Uint8Array): Members {
  if (body.byteLength > eventBytesMax)
    throw new ApiError("body_too_large", `An event can have at most ${eventBytesMax} bytes`);
  const text = eventText(body);
  const value = parse(text);
  if (Array.isArray(value))
    throw new ApiError("invalid_envelope", `A CloudEvent must be a JSON object; send a list as ${batchType}`);
  if (typeof value !== "object" || value === null)
    throw new ApiError("invalid_envelope", "A CloudEvent must be a JSON object");
  const members = new Map<string, string>();
  const problems: FieldError[] = [];
  eachMember(text, text.indexOf("{"), ({ name, valueStart }) => {
    const end = valueEnd(text, valueStart);
    if (members.has(name)) problems.push(problem(name, "repeated", "the event has this attribute twice; send it once"));
    members.set(name, text.slice(valueStart, end));
    return end;
  });
  rejectAny(problems);
  return new Map([...members].filter(([, json]) => json !== "null"));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError("invalid_json", "A CloudEvent must be a single JSON object", { cause });
  }
}

function membersOfHeaders(headers: HeaderValues, body: Uint8Array): Members {
  const problems: FieldError[] = [];
  const attributes = Object.entries(headers).filter(([header]) => header.startsWith(headerPrefix));
  const members = new Map(
    attributes.map(([header, values = []]) => {
      const name = header.slice(headerPrefix.length);
      return [name, JSON.stringify(headerText(name, values, problems))];
    }),
  );
  rejectAny(problems);
  const [mediaType] = headers["content-type"] ?? [];
  if (mediaType !== undefined) members.set("datacontenttype", JSON.stringify(mediaType));
  return body.length === 0 ? members : members.set("data", dataText(body));
}

/** The text of a header, or a problem. */
function headerText(name: string, [value = "", ...more]: readonly string[], problems: FieldError[]): string {
  const decoded = decodedHeader(value);
  if (more.length > 0) problems.push(problem(name, "repeated", "the header is repeated; send it once"));
  else if (notInHeaders.has(name))
    problems.push(problem(name, "not_allowed", "the body has the data, and Content-Type its media type"));
  else if (decoded === undefined)
    problems.push(problem(name, "invalid", "the header must be visible ASCII, and percent-encoded UTF-8 otherwise"));
  return decoded ?? "";
}

/** The JSON of a body. It is parsed, since it becomes a part of the envelope. */
function dataText(body: Uint8Array): string {
  const text = eventText(body);
  parse(text);
  return text.trim();
}

/**
 * Decodes the value of a header: quotes around it, then percent-encoding, once. A `%` that begins no encoding stays.
 * Undefined for bytes that are not UTF-8. Source: CloudEvents HTTP binding 1.0.2 §3.1.3.2.
 */
function decodedHeader(value: string): string | undefined {
  if (/[^\x20-\x7e]/u.test(value)) return undefined;
  const plain = value.startsWith('"') && value.endsWith('"') && value.length > 1 ? value.slice(1, -1) : undefined;
  const unquoted = plain?.replace(/\\(.)/gu, "$1") ?? value;
  try {
    return unquoted.replace(/(?:%[0-9A-F]{2})+/giu, (octets) => decodeURIComponent(octets));
  } catch {
    return undefined;
  }
}

/** Builds the bytes of an envelope. The same event has the same bytes in both modes. */
function envelopeOf(members: Members, tenant: string | undefined): Uint8Array {
  const problems = [...attributeProblems(members), ...extensionProblems(members)];
  const data = dataOf(members, problems);
  const version = versionOf(members, problems);
  rejectAny(problems);
  const time = textOf(members, "time");
  const fields: readonly (readonly [name: string, json: string | undefined])[] = [
    ["event_id", members.get("id")],
    ["type", members.get("type")],
    ["version", version],
    ["ts", time === undefined ? members.get("time") : JSON.stringify(utcTime(time))],
    ["producer", members.get("source")],
    ["tenant", members.get("tenant") ?? (tenant === undefined ? undefined : JSON.stringify(tenant))],
    ...keptAttributes(members),
    ["data", data],
  ];
  const written = fields.flatMap(([name, json]) => (json === undefined ? [] : `${JSON.stringify(name)}:${json}`));
  return Buffer.from(`{${written.join(",")}}`);
}

function rejectAny(problems: readonly FieldError[]): void {
  if (problems.length > 0) throw new ApiError("invalid_envelope", invalid, { errors: problems.slice(0, problemsMax) });
}

/** The JSON of the data. An event without data, or whose data is `null`, has none. */
function dataOf(members: Members, problems: FieldError[]): string | undefined {
  const [data, base64] = [members.get("data"), textOf(members, "data_base64")];
  if (!members.has("data_base64")) return data;
  if (data !== undefined) problems.push(problem("data_base64", "not_allowed", "send either data or data_base64"));
  const text = base64 !== undefined && base64Form.test(base64) ? jsonIn(Buffer.from(base64, "base64")) : undefined;
  if (text === undefined)
    problems.push(problem("data_base64", "invalid", "data_base64 must hold JSON in UTF-8; other data is not accepted"));
  return text;
}

function jsonIn(bytes: Uint8Array): string | undefined {
  try {
    return dataText(bytes);
  } catch {
    return undefined;
  }
}
