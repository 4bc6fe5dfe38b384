import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { waitFor } from "../support/wait.ts";

/** The ports that docs/examples names. */
export const examplePorts = [19_091, 19_092, 19_101, 19_102];
/** The holder of this port has those above: two checkouts on one machine take turns. */
const turnPort = 18_379;
const waitMsMax = 300_000;
/** Bound of {@link takeDemoTurn}. */
export const turnMsMax = 2 * waitMsMax;

/** The right to use the ports of the examples. */
export interface DemoTurn {
  end(): void;
}

/** Waits until no other checkout uses the ports of the examples, and until all of these are free. */
export async function takeDemoTurn(ports: readonly number[]): Promise<DemoTurn> {
  const turn = await waitFor(() => listenOn(turnPort), {
    timeoutMs: waitMsMax,
    pollMs: 200,
    what: "the demo of another checkout to end",
  });
  const what = "the ports of the demo to be free";
  await waitFor(() => arePortsFree(ports), { timeoutMs: waitMsMax, pollMs: 200, what });
  return { end: () => void turn.close() };
}

export async function arePortsFree(ports: readonly number[]): Promise<boolean> {
  for (const port of ports) {
    const server = await listenOn(port).catch(() => undefined);
    if (server === undefined) return false;
    server.close();
  }
  return true;
}

export async function listenOn(port: number): Promise<Server> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}
