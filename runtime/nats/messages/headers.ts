import type { Msg, MsgHdrs } from "@nats-io/transport-node";

/** Names and values of message headers. An undefined value is left out. */
export type HeaderFields = Readonly<Record<string, string | undefined>>;

const lineBreak = /[\r\n]/u;

/**
 * Encodes headers once, in the form that the client sends. The client's own header object looks up every name at every
 * step and costs five times as much.
 *
 * @throws Error when a value holds a line break
 */
export function encodeHeaders(fields: HeaderFields): MsgHdrs {
  let text = "NATS/1.0\r\n";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) {
      continue;
    }
    if (lineBreak.test(value)) {
      throw new Error(`message header ${name} contains a line break`);
    }
    text += `${name}: ${value}\r\n`;
  }
  const bytes = Buffer.from(`${text}\r\n`);
  // Publishing uses only `encode`.
  return { encode: () => bytes } as unknown as MsgHdrs;
}

const firstLine = "NATS/1.0\r\n";
const lineEnd = "\r\n";

/** Members of the client's messages beyond their interface. */
interface SizedMessage extends Msg {
  /** Bytes of subject, reply, headers and payload together. */
  readonly size?: () => number;
}

/**
 * Reads the first value of each header. The client compares the canonical spelling of all names; for the eight headers
 * of a delivery that costs seven times as much as this function.
 */
export function readHeaders(message: SizedMessage): Readonly<Record<string, string>> {
  const block = headerBlock(message);
  return block === undefined ? firstValues(message.headers ?? []) : parseHeaders(block);
}

/** The text of the headers, which precede the payload in the same bytes; undefined when their length is unknown. */
function headerBlock(message: SizedMessage): string | undefined {
  const { data, subject, reply = "", size } = message;
  const length = size === undefined ? -1 : size.call(message) - subject.length - reply.length - data.length;
  if (length === 0) {
    return firstLine;
  }
  const start = data.byteOffset - length;
  const text = length < 0 || start < 0 ? "" : Buffer.from(data.buffer, start, length).toString();
  return text.startsWith(firstLine) ? text : undefined;
}

/** Parses the text of headers; the first value of a repeated name counts. */
export function parseHeaders(block: string): Readonly<Record<string, string>> {
  const fields: Record<string, string> = {};
  let start = firstLine.length;
  for (let end = block.indexOf(lineEnd, start); end > start; end = block.indexOf(lineEnd, start)) {
    const colon = block.indexOf(":", start);
    fields[block.slice(start, colon)] ??= block.slice(colon + 1, end).trim();
    start = end + lineEnd.length;
  }
  return fields;
}

/** The first value of each header. */
export function firstValues(headers: Iterable<[string, string[]]>): Readonly<Record<string, string>> {
  const flat: Record<string, string> = {};
  for (const [name, [value = ""]] of headers) {
    flat[name] = value;
  }
  return flat;
}
