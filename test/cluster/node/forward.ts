import { fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import { enterArgs } from "./namespaces.ts";

/** Where a forwarder leads, and how long it lives. */
interface ForwardRequest {
  readonly initPid: number;
  /** An address of the node's network, or the whole name of a service. */
  readonly host: string;
  readonly port: number;
  /** Whether it ends with the process that asked for it, or only with the node. */
  readonly lifetime: "starter" | "node";
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: string;
}

const startMsMax = 60_000;

/** A socket on a port of 127.0.0.1 of this machine that no other process can take, with that port. */
export async function listenLocally(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listening socket has no port");
  return { server, port: address.port };
}

/**
 * Lets what connects to a socket of this machine reach a port of the node's network. Answers how to end it, which
 * nobody needs to do for one that ends with the node.
 *
 * @throws Error when it does not start
 */
export async function startForwarder(server: Server, request: ForwardRequest): Promise<() => Promise<void>> {
  const program = fileURLToPath(new URL("./forwarder.ts", import.meta.url));
  const inside = enterArgs(request.initPid, "network");
  const log = openSync(request.log, "a");
  const child = fork(program, [request.host, String(request.port), request.lifetime], {
    execPath: "nsenter",
    execArgv: [...(request.lifetime === "node" ? ["--pid"] : []), ...inside, process.execPath],
    detached: true,
    stdio: ["ignore", log, log, "ipc"],
    env: request.env,
  });
  closeSync(log);
  child.send("listen", server);
  const signal = AbortSignal.timeout(startMsMax);
  const ended = once(child, "exit", { signal }).then(() => {
    throw new Error(`the forwarder to ${request.host} did not start (see ${request.log})`);
  });
  await Promise.race([once(child, "message", { signal }), ended]).finally(() => server.close());
  ended.catch(() => undefined);
  if (request.lifetime === "node") child.disconnect();
  child.unref();
  child.channel?.unref();
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.ref();
    child.disconnect();
    await gone;
  };
}
