import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { waitFor } from "../../support/wait.ts";
import { listenLocally } from "./forward.ts";
import { joinSockets } from "./join-sockets.ts";

const bodyBytes = 8 * 1024 * 1024;
const closing: Server[] = [];
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of closing.splice(0)) server.close();
});

/** A port that leads to a server, through joined sockets. */
async function leadingTo(handle: (socket: Socket) => void): Promise<number> {
  const far = await listenLocally();
  far.server.on("connection", (socket) => (sockets.push(socket), handle(socket)));
  const near = await listenLocally();
  near.server.on("connection", (socket) => {
    sockets.push(socket);
    joinSockets(socket, connect(far.port, "127.0.0.1"));
  });
  closing.push(far.server, near.server);
  return near.port;
}

describe("joinSockets", () => {
  test("passes on all of a long answer whose sender closes at once, to a slow reader", async () => {
    const port = await leadingTo((socket) => socket.end(Buffer.alloc(bodyBytes, "x")));
    const client = connect(port, "127.0.0.1");
    let received = 0;
    // A reader that takes one chunk per turn leaves most of the answer waiting when the sender closes.
    for await (const chunk of client as AsyncIterable<Buffer>) {
      received += chunk.length;
      await new Promise(setImmediate);
    }
    expect(received).toBe(bodyBytes);
  });

  test("passes on both ways", async () => {
    const port = await leadingTo((socket) => socket.on("data", (bytes) => socket.end(`got ${bytes.toString()}`)));
    const client = connect(port, "127.0.0.1");
    client.write("word");
    expect(String((await once(client, "data"))[0])).toBe("got word");
    client.destroy();
  });

  test("breaks one end when the other does", async () => {
    let far: Socket | undefined;
    const port = await leadingTo((socket) => {
      far = socket.on("error", () => undefined);
    });
    const client = connect(port, "127.0.0.1");
    await waitFor(() => far, { timeoutMs: 20_000, what: "the far end" });
    client.resetAndDestroy();
    await waitFor(() => far?.destroyed, { timeoutMs: 20_000, what: "the end of the far end" });
    expect(far?.destroyed).toBe(true);
  });

  test("breaks the near end when the far one does not exist", async () => {
    const { server, port: unused } = await listenLocally();
    server.close();
    const near = createServer((socket) => joinSockets(socket, connect(unused, "127.0.0.1")));
    near.listen(0, "127.0.0.1");
    await once(near, "listening");
    closing.push(near);
    const client = connect((near.address() as { readonly port: number }).port, "127.0.0.1").resume();
    client.on("error", () => undefined);
    await once(client, "close");
    expect(client.destroyed).toBe(true);
  });
});
