import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A server that completes no handshake until it is released. */
export interface FrozenServer {
  readonly port: number;
  /** Lets the server accept again. The handshake of a client then ends with the next packet that it repeats. */
  release(): void;
  stop(): Promise<void>;
}

const program = `
  const { createServer } = require("node:http");
  const server = createServer((request, response) => response.end("slow"));
  server.listen({ port: Number(process.argv[1]), host: process.argv[2], backlog: 1 }, () =>
    process.stdout.write(String(server.address().port)));
`;
const fillersMax = 8;
/** A handshake on this machine takes less unless the kernel drops its packets. */
const handshakeMsMax = 150;

/**
 * Starts an HTTP server on an address of the loopback network, stops its process and fills its backlog. The kernel then
 * drops each further SYN, as a host behind a firewall or a slow network would.
 *
 * @param port @default a free one
 */
export async function startFrozenServer(address: string, port = 0): Promise<FrozenServer> {
  const child = spawn(process.execPath, ["--eval", program, String(port), address], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  const bound = Number(text.toString());
  child.kill("SIGSTOP");
  const sockets: Socket[] = [];
  while (await takesAnother(bound, address, sockets))
    if (sockets.length > fillersMax) throw new Error("the backlog does not fill");
  return {
    port: bound,
    release: () => {
      sockets.forEach((socket) => socket.destroy());
      child.kill("SIGCONT");
    },
    stop: async () => {
      sockets.forEach((socket) => socket.destroy());
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function takesAnother(port: number, address: string, sockets: Socket[]): Promise<boolean> {
  const socket = connect(port, address).on("error", () => undefined);
  const isOpen = await Promise.race([once(socket, "connect").then(() => true), sleep(handshakeMsMax, false)]);
  if (isOpen) sockets.push(socket);
  else socket.destroy();
  return isOpen;
}
