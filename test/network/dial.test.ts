import { createServer, type AddressInfo, type Server } from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { dial } from "../../network/dial.ts";
import { dialHost } from "../../network/lookup-dial.ts";
import { startFrozenServer, type FrozenServer } from "./frozen-server.ts";

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map(async (close) => close()));
});

async function frozen(address: string, port?: number): Promise<FrozenServer> {
  const server = await startFrozenServer(address, port);
  closers.push(() => server.stop());
  return server;
}

async function listening(host: string, port = 0): Promise<number> {
  const server: Server = createServer((socket) => socket.on("error", () => undefined)).listen(port, host);
  await once(server, "listening");
  closers.push(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** The address that was connected to, and the time until then. */
async function dialed(addresses: readonly string[], port: number, timeoutMs = 5_000): Promise<[string, number]> {
  const startedAtMs = performance.now();
  const socket = await dial({ addresses, port, timeoutMs });
  const { remoteAddress = "" } = socket;
  socket.destroy();
  return [remoteAddress, performance.now() - startedAtMs];
}

describe("a connection to a host with several addresses", () => {
  test("goes to the next one when the first refuses, at once", async () => {
    const port = await listening("127.0.0.1");
    const [address, tookMs] = await dialed(["::1", "127.0.0.9", "127.0.0.1"], port);
    expect(address).toBe("127.0.0.1");
    expect(tookMs).toBeLessThan(200);
  });

  test("goes to the next one after 250 ms when the first is silent (RFC 8305 §5)", async () => {
    const { port } = await frozen("127.0.0.2");
    await listening("127.0.0.1", port);
    const [address, tookMs] = await dialed(["127.0.0.2", "127.0.0.1"], port);
    expect(address).toBe("127.0.0.1");
    expect(tookMs).toBeGreaterThan(240);
    expect(tookMs).toBeLessThan(900);
  });

  test("waits for a slow handshake after every other address has failed", async () => {
    const slow = await frozen("127.0.0.2");
    setTimeout(() => slow.release(), 400);
    const [address, tookMs] = await dialed(["127.0.0.2", "::1"], slow.port);
    expect(address).toBe("127.0.0.2");
    // The kernel repeats a dropped SYN after a second.
    expect(tookMs).toBeGreaterThan(900);
  });

  test("alternates between the families (RFC 8305 §4)", async () => {
    const { port } = await frozen("127.0.0.2");
    await frozen("127.0.0.3", port);
    await listening("::1", port);
    const [address, tookMs] = await dialed(["127.0.0.2", "127.0.0.3", "::1"], port);
    expect(address).toBe("::1");
    expect(tookMs).toBeLessThan(480);
  });

  test("fails at the time limit", async () => {
    const { port } = await frozen("127.0.0.2");
    const startedAtMs = performance.now();
    await expect(dialed(["127.0.0.2", "127.0.0.9"], port, 400)).rejects.toMatchObject({
      name: "DialTimeout",
      code: "ETIMEDOUT",
    });
    expect(performance.now() - startedAtMs).toBeGreaterThan(390);
  });

  test("fails with the error of the first address when all refuse", async () => {
    const port = await listening("127.0.0.1");
    await expect(dialed(["127.0.0.8", "::1"], port)).rejects.toMatchObject({
      code: "ECONNREFUSED",
      address: "127.0.0.8",
    });
    await expect(dialed([], port)).rejects.toThrow("no address");
  });

  test("tries a bounded number of addresses", async () => {
    const port = await listening("127.0.0.1");
    const addresses = [...Array.from({ length: 16 }, (_, index) => `127.0.1.${index + 1}`), "127.0.0.1"];
    await expect(dialed(addresses, port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});

describe("a look-up", () => {
  test("is part of the time limit", async () => {
    const lookUp = (): Promise<readonly string[]> => new Promise(() => {});
    await expect(dialHost({ host: "a.test", port: 80, timeoutMs: 50, lookUp })).rejects.toMatchObject({
      code: "ETIMEDOUT",
    });
  });

  test("is left out for an address", async () => {
    const port = await listening("127.0.0.1");
    const lookUp = (): Promise<readonly string[]> => Promise.reject(new Error("looked up"));
    const socket = await dialHost({ host: "127.0.0.1", port, timeoutMs: 5_000, lookUp });
    expect(socket.remotePort).toBe(port);
    socket.destroy();
  });

  test("by the operating system finds localhost", async () => {
    const port = await listening("127.0.0.1");
    const socket = await dialHost({ host: "localhost", port, timeoutMs: 5_000 });
    expect(socket.remotePort).toBe(port);
    socket.destroy();
  });
});
