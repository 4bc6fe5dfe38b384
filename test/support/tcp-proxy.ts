import { once } from "node:events";
import { type Socket, connect, createServer } from "node:net";

/** A server that passes bytes on to another, until a test cuts the lines. */
export interface TcpProxy {
  readonly port: number;
  /** Connections accepted so far. */
  connections(): number;
  /** Bytes that clients sent so far. */
  bytesSent(): number;
  /** Resets every connection; new ones are accepted. */
  cut(): void;
  /** Resets every connection, and each new one at once, until it passes bytes on again. */
  block(): void;
  unblock(): void;
  /** Keeps every byte, of new connections too, until {@link TcpProxy.release}: what is behind seems to hang. */
  hold(): void;
  release(): void;
  stop(): Promise<void>;
}

/** Starts the proxy on 127.0.0.1. @param target the server's URL; only host and port matter */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const lines = new Set<readonly [Socket, Socket]>();
  let isHeld = false;
  let connections = 0;
  let isBlocked = false;
  let bytesSent = 0;
  const server = createServer((near) => {
    if (isBlocked) {
      near.on("error", () => undefined).resetAndDestroy();
      return;
    }
    connections += 1;
    const far = connect(Number(port), hostname);
    near.on("data", (bytes) => {
      bytesSent += bytes.length;
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      const line = [one, other] as const;
      sockets.add(one);
      lines.add(line);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        lines.delete(line);
        other.destroy();
      });
      if (isHeld) one.pause();
      else one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listening socket has no port");
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: address.port,
    connections: () => connections,
    bytesSent: () => bytesSent,
    cut,
    block: () => {
      isBlocked = true;
      cut();
    },
    unblock: () => {
      isBlocked = false;
    },
    hold: () => {
      isHeld = true;
      for (const [one, other] of lines) one.unpipe(other).pause();
    },
    release: () => {
      isHeld = false;
      for (const [one, other] of lines) one.pipe(other);
    },
    stop: async () => {
      server.close();
      cut();
      await once(server, "close");
    },
  };
}
