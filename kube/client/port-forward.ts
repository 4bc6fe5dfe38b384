import { createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "undici";
import { destroyPools, openPools } from "./transport.ts";
import type { ClusterAccess } from "./credentials.ts";
import { objectPath, podType } from "./resource.ts";

/** A port of one pod. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** A port of this machine that leads to ports of pods. */
export interface PortForward {
  /** Of the loopback interface. */
  readonly port: number;
  close(): Promise<void>;
}

/** Source: kubelet, `portforward/websocket.go`. Each binary message begins with the number of its channel. */
const protocol = "v4.channel.k8s.io";
const dataChannel = 0;
/** Each channel begins with a message that repeats the port. */
const portMessageBytes = 3;
const connectTimeoutMs = 10_000;
/** Connections of one program to one pod. */
const connectionsMax = 64;
/** Bytes of one connection that wait for the API server. More make the client wait. */
const sentBytesMax = 4 * 1024 * 1024;
/** Bytes of one connection that wait for the client. A WebSocket cannot be paused, so that more end the connection. */
const receivedBytesMax = 32 * 1024 * 1024;
const pollMs = 5;

/**
 * Opens a port of the loopback interface. Each connection to it becomes a WebSocket through the API server, and ends
 * with its pod.
 *
 * @param find the port that a new connection leads to; it throws when there is none, which ends the connection
 */
export async function forwardPort(access: ClusterAccess, find: () => Promise<PodPort>): Promise<PortForward> {
  const sockets = new Set<Socket>();
  const credentials = await access.read();
  const pools = openPools(credentials, connectTimeoutMs);
  const connect = ({ namespace, pod, port }: PodPort): WebSocket => {
    const path = objectPath(podType, { namespace, name: pod }, "portforward");
    const url = `${credentials.server.replace(/^http/u, "ws")}${path}?ports=${port}`;
    return new WebSocket(url, { protocols: [protocol], dispatcher: pools.watches, headers: credentials.headers });
  };
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    find().then(
      (to) => (socket.destroyed ? undefined : join(socket, connect(to))),
      () => socket.destroy(),
    );
  });
  server.maxConnections = connectionsMax;
  server.listen(0, "localhost");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await destroyPools(pools);
    },
  };
}

/** Passes bytes both ways until one side ends. */
function join(socket: Socket, remote: WebSocket): void {
  remote.binaryType = "arraybuffer";
  remote.addEventListener("open", () => socket.resume());
  remote.addEventListener("close", () => socket.destroy());
  remote.addEventListener("error", () => socket.destroy());
  remote.addEventListener("message", ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer);
    const isData = bytes[0] === dataChannel && bytes.length > 1;
    if (isData && !isPortMessage(bytes)) socket.write(bytes.subarray(1));
    else if (bytes[0] !== dataChannel && bytes.length !== portMessageBytes) socket.destroy();
    if (socket.writableLength > receivedBytesMax) socket.destroy();
  });
  const isPortMessage = firstOnly();
  socket.on("data", (chunk) => {
    remote.send(Buffer.concat([Buffer.of(dataChannel), chunk]));
    if (remote.bufferedAmount > sentBytesMax) void pauseUntilSent(socket, remote);
  });
  socket.on("error", () => remote.close());
  socket.on("close", () => remote.close());
}

/** A WebSocket has no event for sent bytes, so that their number is polled. */
async function pauseUntilSent(socket: Socket, remote: WebSocket): Promise<void> {
  socket.pause();
  while (!socket.destroyed && remote.bufferedAmount > sentBytesMax / 2) await sleep(pollMs);
  socket.resume();
}

/** Returns true for the first message alone. */
function firstOnly(): (bytes: Buffer) => boolean {
  let isFirst = true;
  return (bytes) => {
    const found = isFirst && bytes.length === portMessageBytes;
    isFirst = false;
    return found;
  };
}
