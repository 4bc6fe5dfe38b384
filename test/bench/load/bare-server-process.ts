import cluster from "node:cluster";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The order of a bare server: it sends these many bytes from memory, whatever is asked, from some processes. */
export interface BareServerOrder {
  readonly bytes: number;
  readonly processes: number;
}

/**
 * The least that a Node server can do: one `node:http` server, or several behind one port as `cluster` shares it. It
 * reads no header and checks nothing.
 */
if (cluster.isPrimary) {
  process.on("message", (order: BareServerOrder) => void start(order).then((port) => process.send?.(port)));
} else {
  serve(Number(process.env["BARE_BYTES"]), () => undefined);
}

function serve(bytes: number, listening: (port: number) => void): void {
  const body = Buffer.alloc(bytes, "x");
  const headers = { "content-type": "application/json", "content-length": String(bytes) };
  const server = createServer((_request, response) => void response.writeHead(200, headers).end(body));
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => listening((server.address() as AddressInfo).port));
}

function start({ bytes, processes }: BareServerOrder): Promise<number> {
  return new Promise((resolve) => {
    if (processes === 1) {
      serve(bytes, resolve);
      return;
    }
    let waiting = processes;
    cluster.on("listening", (_worker, { port }) => {
      waiting -= 1;
      if (waiting === 0) resolve(port);
    });
    for (let place = 0; place < processes; place += 1) {
      const child = cluster.fork({ BARE_BYTES: String(bytes) });
      process.once("disconnect", () => child.kill());
    }
  });
}
