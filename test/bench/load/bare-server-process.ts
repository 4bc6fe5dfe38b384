import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The least that a Node server can do: it sends this many bytes from memory, reads no header and checks nothing. */
process.on("message", ({ bytes }: { readonly bytes: number }) => {
  const body = Buffer.alloc(bytes, "x");
  const headers = { "content-type": "application/json", "content-length": String(bytes) };
  const server = createServer((_request, response) => void response.writeHead(200, headers).end(body));
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});
