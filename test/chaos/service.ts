import { connect, createServer, type Socket } from "node:net";
import { leaveCutOff, listenOnLoopback, type Loopback } from "../support/loopback.ts";

/** Time after which a server that does not accept a connection is passed over. */
const connectMsMax = 1_000;

/** One address in front of several servers, as a Service of Kubernetes is: each connection goes to one that accepts. */
export async function startService(ports: readonly number[]): Promise<Loopback> {
  let next = 0;
  const server = createServer((client) => {
    client.on("error", leaveCutOff);
    next += 1;
    const order = ports.map((_, index) => ports[(next + index) % ports.length] ?? 0);
    void firstThatAccepts(order).then((upstream) => {
      if (upstream === undefined) return void client.destroy();
      upstream.on("error", leaveCutOff);
      upstream.on("close", () => client.destroy());
      client.on("close", () => upstream.destroy());
      client.pipe(upstream).pipe(client);
    });
  });
  return listenOnLoopback(server);
}

async function firstThatAccepts(ports: readonly number[]): Promise<Socket | undefined> {
  for (const port of ports) {
    const socket = await accepted(port);
    if (socket !== undefined) return socket;
  }
  return undefined;
}

function accepted(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: connectMsMax });
    const give = (result: Socket | undefined) => () => {
      socket.setTimeout(0);
      if (result === undefined) socket.destroy();
      resolve(result);
    };
    socket.once("connect", give(socket)).once("error", give(undefined)).once("timeout", give(undefined));
  });
}
