import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { zstdDecompressSync } from "node:zlib";
import type { Certificate } from "../../../support/tls/x509.ts";

/** One request and its answer, as they were in the clear. */
export interface Exchange {
  readonly request: Message;
  readonly answer: Message;
}

export interface Message {
  /** Request line or status line. */
  readonly first: string;
  /** Lowercase names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Ends TLS on both sides and writes down every byte that passes. */
export interface RecordingProxy {
  readonly port: number;
  /** Everything that was asked and answered in full, in the order of each connection. */
  exchanges(): readonly Exchange[];
  close(): Promise<void>;
}

interface Recorded {
  readonly asked: Buffer[];
  readonly answered: Buffer[];
}

/**
 * @param shown certificate that servers show @param client certificate of the client, which alone may pass on what it
 * sent
 */
export async function startRecordingProxy(
  port: number,
  { shown, client, ca }: { readonly shown: Certificate; readonly client: Certificate; readonly ca: string },
): Promise<RecordingProxy> {
  const connections: Recorded[] = [];
  const sockets = new Set<TLSSocket>();
  const server = createServer({ ...shown, requestCert: true, rejectUnauthorized: false }, (near) => {
    const recorded: Recorded = { asked: [], answered: [] };
    connections.push(recorded);
    const far = connect({ host: "127.0.0.1", port, servername: "localhost", ca, ...client });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
    }
    near.on("data", (chunk: Buffer) => recorded.asked.push(chunk)).pipe(far);
    far.on("data", (chunk: Buffer) => recorded.answered.push(chunk)).pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    exchanges: () => connections.flatMap(exchangesOf),
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function exchangesOf({ asked, answered }: Recorded): readonly Exchange[] {
  const [requests, answers] = [messagesIn(Buffer.concat(asked)), messagesIn(Buffer.concat(answered))];
  return answers.flatMap((answer, index) => {
    const request = requests[index];
    return request === undefined ? [] : [{ request, answer }];
  });
}

/** Messages with a content length, which all of these have. */
function messagesIn(bytes: Buffer): readonly Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end === -1) break;
    const [first = "", ...lines] = bytes.toString("latin1", at, end).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    );
    if (headers["content-length"] === undefined) throw new Error(`no content length: ${first}`);
    const start = end + 4;
    at = start + Number(headers["content-length"]);
    if (at > bytes.length) break;
    messages.push({ first, headers, body: bytes.subarray(start, at) });
  }
  return messages;
}

/** What packed partials hold besides numbers, and how many bytes of numbers there are. */
export function openPartials(body: Buffer): { readonly head: string; readonly numberBytes: number } {
  const unpacked = zstdDecompressSync(body.subarray("HGC1".length + 16));
  const length = unpacked.readUInt32LE();
  return { head: unpacked.toString("utf8", 4, 4 + length), numberBytes: unpacked.length - 4 - length };
}
