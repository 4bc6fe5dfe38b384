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
export type PortForward = Awaited<ReturnType<typeof forwardPort>>;

/** Source: kubelet, `portforward/websocket.go`. Each binary message begins with the number of its channel. */
const protocol = "v4.channel.k8s.io";
const dataChannel = 0;
/** Each channel begins with a message that repeats the port. */
const portMessageBytes = 3;
const connectTimeoutMs = 10_000;
/** Time in which a connection reaches a pod. Pods that are replaced are not ready for a while. */
const reachMsMax = 15_000;
const reachAgainMs = 250;
/** Connections of one program to one pod. */
const connectionsMax = 64;
/** Bytes of one connection that wait for the API server. More make the client wait. */
const sentBytesMax = 4 * 1024 * 1024;
/** Bytes of one connection that wait for the client. A WebSocket cannot be paused, so that more end the connection. */
const receivedBytesMax = 32 * 1024 * 1024;
const pollMs = 5;
const failureCharactersMax = 500;

/**
 * Opens a port of the loopback interface. Each connection to it becomes a WebSocket through the API server, and ends
 * with its pod. A connection that reaches no pod is tried again until its time has passed, and ends then.
 *
 * @param find the port that a new connection leads to; it throws when there is none
 * @param reachMs time of one connection to reach a pod. @default 15000
 */
export async function forwardPort(access: ClusterAccess, find: () => Promise<PodPort>, reachMs = reachMsMax) {
  const sockets = new Set<Socket>();
  const credentials = await access.read();
  const pools = openPools(credentials, connectTimeoutMs);
  const connect = ({ namespace, pod, port }: PodPort): WebSocket => {
    const path = objectPath(podType, { namespace, name: pod }, "portforward");
    const url = `${credentials.server.replace(/^http/u, "ws")}${path}?ports=${port}`;
    return new WebSocket(url, { protocols: [protocol], dispatcher: pools.watches, headers: credentials.headers });
  };
  let failure: string | undefined;
  const note = (reason: string | undefined): void => void (failure = reason);
  const reach = async (socket: Socket): Promise<void> => {
    const endsAtMs = performance.now() + reachMs;
    while (!socket.destroyed) {
      try {
        const to = await find();
        await join(socket, connect(to), note);
        return note(undefined);
      } catch (error) {
        note(error instanceof Error ? error.message : String(error));
      }
      if (performance.now() >= endsAtMs) socket.destroy();
      else await sleep(reachAgainMs);
    }
  };
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    void reach(socket);
  });
  server.maxConnections = connectionsMax;
  server.listen(0, "localhost");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    /** Of the loopback interface. */
    port,
    /** Why the last connection reached no pod; undefined after one that did. */
    failure: () => failure,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await destroyPools(pools);
    },
  };
}

/**
 * Passes bytes both ways until one side ends. It resolves once the API server has reached the pod.
 *
 * @param onFailure gets the words of the kubelet
 * @throws Error if the API server does not reach the pod
 */
async function join(socket: Socket, remote: WebSocket, onFailure: (reason: string) => void): Promise<void> {
  const opened = Promise.withResolvers<undefined>();
  let isOpen = false;
  const end = (): void => {
    if (!isOpen) return opened.reject(new Error("the API server does not reach the pod; repeat the command"));
    if (!socket.destroyed) onFailure("the pod ended the connection; repeat the command");
    socket.destroy();
  };
  const isPortMessage = firstOnly();
  remote.binaryType = "arraybuffer";
  remote.addEventListener("close", end);
  remote.addEventListener("error", end);
  remote.addEventListener("message", ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer);
    const isData = bytes[0] === dataChannel && bytes.length > 1;
    if (isData && !isPortMessage(bytes)) socket.write(bytes.subarray(1));
    else if (bytes[0] !== dataChannel && bytes.length !== portMessageBytes) {
      onFailure(bytes.subarray(1).toString("utf8").slice(0, failureCharactersMax).trim());
      socket.destroy();
    }
    if (socket.writableLength > receivedBytesMax) socket.destroy();
  });
  remote.addEventListener("open", () => {
    isOpen = true;
    socket.on("data", (chunk) => {
      remote.send(Buffer.concat([Buffer.of(dataChannel), chunk]));
      if (remote.bufferedAmount > sentBytesMax) void pauseUntilSent(socket, remote);
    });
    socket.on("close", () => remote.close());
    if (socket.destroyed) remote.close();
    socket.resume();
    opened.resolve(undefined);
  });
  await opened.promise;
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
