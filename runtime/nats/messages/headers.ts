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
    if (value === undefined) continue;
    if (lineBreak.test(value)) throw new Error(`message header ${name} contains a line break`);
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
  /** Headers and payload as they arrived. */
  readonly _rdata?: Uint8Array;
  /** What the parser found: bytes of the headers, or -1 without any. */
  readonly _msg?: { readonly hdr?: number };
}

/**
 * Reads the first value of each header. The client compares the canonical spelling of all names; for the eight headers
 * of a delivery that costs seven times as much as this function.
 */
export function readHeaders(message: SizedMessage): Readonly<Record<string, string>> {
  const block = headerText(message);
  return block === undefined ? firstValues(message.headers ?? []) : parseHeaders(block);
}

/** The text of the headers, which precede the payload in the same bytes; undefined when their length is unknown. */
export function headerText(message: SizedMessage): string | undefined {
  const { _rdata: bytes, _msg: parsed } = message;
  const text = Buffer.isBuffer(bytes) && parsed?.hdr !== undefined ? textIn(bytes, parsed.hdr) : textBefore(message);
  return text.startsWith(firstLine) ? text : undefined;
}

function textIn(bytes: Buffer, headerBytes: number): string {
  return headerBytes > 0 ? bytes.toString("utf8", 0, headerBytes) : firstLine;
}

/** The same by the interface of the client, which makes an object for each part of the message. */
function textBefore(message: SizedMessage): string {
  const { data, subject, reply = "", size } = message;
  const length = size === undefined ? -1 : size.call(message) - subject.length - reply.length - data.length;
  if (length === 0) return firstLine;
  const start = data.byteOffset - length;
  return length < 0 || start < 0 ? "" : Buffer.from(data.buffer, start, length).toString();
}

/** Name of a header as {@link headerValue} looks for it; made once, since a search needs no more then. */
export function headerMark(name: string): string {
  return `${lineEnd}${name}:`;
}

/** The first value of one header in the text of all; undefined without one. */
export function headerValue(block: string, mark: string): string | undefined {
  const found = block.indexOf(mark);
  if (found === -1) return undefined;
  const start = found + mark.length;
  return block.slice(start, block.indexOf(lineEnd, start)).trim();
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
  for (const [name, [value = ""]] of headers) flat[name] = value;
  return flat;
}
