import { eachMember, valueEnd } from "../../json/json-pointers.ts";

/** `Content-Type` in structured mode, in the letters that all SDKs accept. Source: CloudEvents JSON format 1.0 §3. */
export const cloudEventContentType = "application/cloudevents+json; charset=utf-8";

/** Attributes by the fields of the envelope; `tenant` and `version` are extensions. */
const attributes: ReadonlyMap<string, string> = new Map([
  ["event_id", "id"],
  ["type", "type"],
  ["ts", "time"],
  ["tenant", "tenant"],
  ["version", "version"],
]);
/** Names that further members of an envelope cannot have in a CloudEvent. */
const reserved: ReadonlySet<string> = new Set([
  ...attributes.keys(),
  ...attributes.values(),
  "specversion",
  "source",
  "datacontenttype",
  "producer",
  "data",
  "attempt",
]);

const nameForm = /^[a-z0-9]+$/u;
const integerForm = /^-?\d{1,10}$/u;
const integerMax = 2_147_483_647;
/** Characters that an attribute cannot have. Source: CloudEvents 1.0.2 §3.1. */
const control = /\p{Cc}/u;
/** Characters that a URI reference cannot have. */
const notOfUri = /[^\w.~:/?#[\]@!$&'()*+,;=%-]|%(?![0-9a-f]{2})/giu;
const colonOfFirstSegment = /^(?![a-z][a-z0-9+.-]*:)[^/?#]*/iu;
const decoder = new TextDecoder();

/**
 * The bytes of an event as a CloudEvent. They follow from the event alone, and `data` is copied as written. Further
 * members become extensions if their names and values permit it; others are left out.
 *
 * @param body an envelope, or the part of it that is sent
 * @param producer the source of an event that names none
 */
export function toCloudEvent(body: Uint8Array, producer: string): Uint8Array {
  const text = decoder.decode(body);
  const written: string[] = ['"specversion":"1.0"'];
  const add = (name: string, json: string | undefined): void => {
    if (json !== undefined) written.push(`${JSON.stringify(name)}:${json}`);
  };
  let source = producer;
  let data: string | undefined;
  eachMember(text, text.indexOf("{"), ({ name, valueStart }) => {
    const end = valueEnd(text, valueStart);
    const json = text.slice(valueStart, end);
    if (name === "data") data = json;
    else if (name === "producer") source = String(JSON.parse(json));
    else if (attributes.has(name)) add(attributes.get(name) ?? name, json);
    else if (nameForm.test(name) && !reserved.has(name)) add(name, extensionOf(json));
    return end;
  });
  add("source", JSON.stringify(sourceOf(source)));
  add("datacontenttype", data && '"application/json"');
  add("data", data);
  return Buffer.from(`{${written.join(",")}}`);
}

/** A producer as a URI reference: other characters are percent-encoded. */
function sourceOf(producer: string): string {
  const encoded = producer.replace(notOfUri, encodeCharacter);
  return encoded.replace(colonOfFirstSegment, (segment) => segment.replaceAll(":", encodeCharacter));
}

function encodeCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** A number that is no integer of 32 bits becomes a string with its digits. Undefined for what no attribute can be. */
function extensionOf(json: string): string | undefined {
  const value: unknown = JSON.parse(json);
  if (typeof value === "boolean") return json;
  if (typeof value === "string") return value === "" || control.test(value) ? undefined : json;
  if (typeof value !== "number") return undefined;
  const isInteger = integerForm.test(json) && value >= -integerMax - 1 && value <= integerMax;
  return isInteger ? json : JSON.stringify(json);
}
