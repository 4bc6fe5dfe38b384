import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { forwardPort } from "../../../kube/client/port-forward.ts";
import { listenOnLoopback } from "../../support/loopback.ts";
import { waitFor } from "../../support/wait.ts";

const bytes = 32 * 1024 * 1024;
const timeoutMs = 30_000;
const messageBytes = 1024 * 1024;
/** More than the connection and the buffers of the machine hold. */
const messagesMax = 96;
/** Source: RFC 6455 §4.2.2. */
const acceptId = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** An API server that accepts every port-forward but those to the pod `gone`. Nothing is read until the test does. */
async function startApi() {
  const pods: Duplex[] = [];
  const server = createServer().on("upgrade", ({ headers, url = "" }, socket: Duplex) => {
    if (url.includes("/gone/")) return void socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}${acceptId}`).digest("base64");
    const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
    const answered = [`Sec-WebSocket-Accept: ${accept}`, "Sec-WebSocket-Protocol: v4.channel.k8s.io", "", ""];
    socket.on("error", () => {}).write([...lines, ...answered].join("\r\n"));
    pods.push(socket);
  });
  const listening = await listenOnLoopback(server);
  onTestFinished(() => listening.close());
  const connection = { type: "none" } as const;
  const credentials = { server: `http://127.0.0.1:${listening.port}`, headers: {}, connection, fingerprint: "" };
  return { pods, access: { server: credentials.server, namespace: "a", read: async () => credentials } };
}

/** A client of the forwarded port, once it has reached its pod. */
async function join(port: number, pods: readonly Duplex[]): Promise<{ readonly client: Socket; readonly pod: Duplex }> {
  const before = pods.length;
  const client = connect(port, "localhost").on("error", () => {});
  onTestFinished(() => void client.destroy());
  await once(client, "connect");
  const pod = await waitFor(() => pods[before], { timeoutMs, what: "the connection to the pod" });
  return { client, pod };
}

/** Reads a pod's bytes from now on. */
function counted(pod: Duplex): () => number {
  let count = 0;
  pod.on("data", (chunk: Buffer) => (count += chunk.length));
  return () => count;
}

test("a client that sends faster than its pod reads has to wait, and every byte arrives", async () => {
  const { pods, access } = await startApi();
  const forward = await forwardPort(access, () => Promise.resolve({ namespace: "a", pod: "one", port: 80 }));
  onTestFinished(() => forward.close());
  const [stuck, read] = [await join(forward.port, pods), await join(forward.port, pods)];
  const whole = Buffer.alloc(bytes);
  stuck.client.write(whole);
  read.client.write(whole);
  const readBytes = counted(read.pod);
  await waitFor(() => readBytes() >= bytes, { timeoutMs, what: "the bytes of the other client" });
  expect(stuck.client.writableLength).toBeGreaterThan(0);
  const stuckBytes = counted(stuck.pod);
  await waitFor(() => stuckBytes() >= bytes, { timeoutMs, what: "the bytes that waited" });
});

test("a client whose pod is gone reaches the next one, and one whose pod ends is cut off with a reason", async () => {
  const { pods, access } = await startApi();
  const names = ["gone", "gone", "two"];
  const forward = await forwardPort(access, async () => ({ namespace: "a", pod: names.shift() ?? "two", port: 80 }));
  onTestFinished(() => forward.close());
  const { client, pod } = await join(forward.port, pods);
  const sent = counted(pod);
  client.write("request");
  await waitFor(() => sent() >= "request".length, { timeoutMs, what: "the bytes of the client" });
  expect([names, forward.failure()]).toEqual([[], undefined]);
  pod.destroy();
  await once(client, "close");
  expect(forward.failure()).toBe("the pod ended the connection; repeat the command");
});

test("a client is cut off with the reason if no pod can be reached in time", async () => {
  const { access } = await startApi();
  let tries = 0;
  const find = async (): Promise<never> => {
    tries += 1;
    throw new Error("no pod is ready (0 exist)");
  };
  const forward = await forwardPort(access, find, 600);
  onTestFinished(() => forward.close());
  const client = connect(forward.port, "localhost").on("error", () => {});
  await once(client, "close");
  expect([tries > 1, forward.failure()]).toEqual([true, "no pod is ready (0 exist)"]);
});

test("a client that does not read what its pod sends is cut off", async () => {
  const { pods, access } = await startApi();
  const forward = await forwardPort(access, () => Promise.resolve({ namespace: "a", pod: "one", port: 80 }));
  onTestFinished(() => forward.close());
  const { pod } = await join(forward.port, pods);
  const message = Buffer.alloc(10 + messageBytes);
  // The head of a binary message with a length of eight bytes. Source: RFC 6455 §5.2.
  message.set([0x82, 127]);
  message.writeUInt32BE(messageBytes, 6);
  const frames: Buffer[] = [];
  pod.on("data", (frame: Buffer) => frames.push(frame));
  for (let sent = 0; frames.length === 0 && sent < messagesMax; sent += 1) await written(pod, message);
  await waitFor(() => frames.length > 0, { timeoutMs, what: "the frame that closes the connection" });
  // Its first byte. Source: RFC 6455 §5.5.1.
  expect(frames[0]?.[0]).toBe(0x88);
});

function written(pod: Duplex, message: Buffer): Promise<void> {
  return new Promise((resolve) => pod.write(message, () => resolve()));
}
