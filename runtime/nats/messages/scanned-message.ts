import type { Msg } from "@nats-io/transport-node";
import { firstValues, headerText, headerValue, parseHeaders } from "./headers.ts";
import { readReply } from "./pulled-message.ts";
import type { StoredMessage } from "./stored-messages.ts";

/** A message that a scan read. Each part is parsed when it is first asked for: most scans use few of them. */
export interface ScannedMessage extends StoredMessage {
  /** The first value of one header, without reading the others. @param mark made by `headerMark` */
  header(mark: string): string | undefined;
}

/** A message of a scan as the client received it. */
export function scannedMessage(message: Msg): ScannedMessage {
  return new Scanned(message);
}

/** A class, since closures would be created anew for each message. */
class Scanned implements ScannedMessage {
  readonly #message: Msg;
  #delivery: ReturnType<typeof readReply> | undefined;
  #text: string | undefined;
  #headers: Readonly<Record<string, string>> | undefined;

  constructor(message: Msg) {
    this.#message = message;
  }

  get subject(): string {
    return this.#message.subject;
  }

  get seq(): number {
    return this.#read().seq;
  }

  get storedAtMs(): number {
    return this.#read().storedAtMs;
  }

  get data(): Uint8Array {
    return this.#message.data;
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= parseHeaders(this.#block());
    return this.#headers;
  }

  header(mark: string): string | undefined {
    return headerValue(this.#block(), mark);
  }

  #block(): string {
    this.#text ??= headerText(this.#message) ?? textOf(this.#message);
    return this.#text;
  }

  #read(): ReturnType<typeof readReply> {
    this.#delivery ??= readReply(this.#message.reply ?? "");
    return this.#delivery;
  }
}

/** The text of headers whose bytes the client does not show. */
function textOf({ headers = [] }: { readonly headers?: Msg["headers"] | readonly [] }): string {
  const lines = Object.entries(firstValues(headers)).map(([name, value]) => `${name}: ${value}`);
  return ["NATS/1.0", ...lines, "", ""].join("\r\n");
}
