import { headers as newHeaders, type Msg } from "@nats-io/transport-node";
import type { HeaderFields } from "../../../../runtime/nats/messages/headers.ts";

/** What a message of a test has. */
interface Content {
  readonly subject: string;
  readonly fields: HeaderFields;
  /** @default none */
  readonly body?: string;
  /** @default 7 */
  readonly seq?: number;
  /** @default 5 */
  readonly storedAtMs?: number;
}

/** A message as the client parses it from the bytes of a consumer. */
export function clientMessage({ subject, fields, body = "", seq = 7, storedAtMs = 5 }: Content): Msg {
  const lines = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  const block = Buffer.from(["NATS/1.0", ...lines, "", ""].join("\r\n"));
  const bytes = Buffer.concat([block, Buffer.from(body)]);
  const reply = `$JS.ACK.HG_EVENTS.scan.1.${seq}.1.${storedAtMs}000000.0`;
  return {
    subject,
    reply,
    data: bytes.subarray(block.length),
    _rdata: bytes,
    _msg: { hdr: block.length },
  } as unknown as Msg;
}

/** The same message from a client that does not show where its headers are. */
export function opaqueMessage(content: Content): Msg {
  const { subject, reply, data } = clientMessage(content);
  const headers = newHeaders();
  for (const [name, value] of Object.entries(content.fields)) if (value !== undefined) headers.append(name, value);
  return { subject, reply, data: Buffer.from(data), headers } as unknown as Msg;
}
