import { Agent, createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * The least that a Node proxy can do: it sends each request on to one store and its response back, reads no body and
 * checks nothing. Requests with equal bodies share one response while it is under way.
 */
process.on("message", ({ store }: { readonly store: string }) => {
  const agent = new Agent({ keepAlive: true });
  const underWay = new Map<string, Promise<Buffer>>();
  const ask = async (path: string, headers: IncomingMessage["headers"], body: string): Promise<Buffer> => {
    const sent = request(`${store}${path}`, { method: "POST", headers, agent });
    const response = new Promise<IncomingMessage>(
      (resolve, reject) => void sent.on("response", resolve).on("error", reject),
    );
    sent.end(body);
    return bytesOf(await response);
  };
  const server = createServer((incoming, outgoing) => {
    void bytesOf(incoming).then(async (bytes) => {
      const body = bytes.toString("latin1");
      let shared = underWay.get(body);
      if (shared === undefined) {
        shared = ask(incoming.url ?? "/", incoming.headers, body).finally(() => underWay.delete(body));
        underWay.set(body, shared);
      }
      const found = await shared;
      outgoing.writeHead(200, { "content-type": "application/json", "content-length": found.byteLength }).end(found);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
