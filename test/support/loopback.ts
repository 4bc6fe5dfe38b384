import type { AddressInfo, Server, Socket } from "node:net";

/** A server that listens on a port of its own. */
export interface Loopback {
  readonly port: number;
  /** Connections accepted so far. */
  connections(): number;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

/** Takes the error of a request that its client cut off: tests cut connections on purpose. */
export function leaveCutOff(): void {}

/** Lets a server listen on a free port of a loopback address. */
export async function listenOnLoopback(server: Server, host = "127.0.0.1"): Promise<Loopback> {
  const open = new Set<Socket>();
  let accepted = 0;
  server.on("connection", (socket: Socket) => {
    accepted += 1;
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    // Tests cut connections on purpose.
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    connections: () => accepted,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        open.forEach((socket) => socket.destroy());
      }),
  };
}
