import { createServer } from "node:https";
import { once } from "node:events";
import { Agent as HttpAgent, request } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent as HttpsAgent, request as requestSecure } from "node:https";
import { Agent, request as send } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { isMetadataAddress } from "../../crds/networks.ts";
import { withOverlappingAttempts } from "../../network/http-agent.ts";
import { overlappingConnector } from "../../network/undici-connector.ts";
import { startFrozenServer, type FrozenServer } from "./frozen-server.ts";
import { selfSignedCertificate } from "../support/tls/self-signed-certificate.ts";

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map(async (close) => close()));
});

/** A slow address beside one that refuses. Without overlapping attempts, the slow one ends after 250 ms. */
const addresses = ["127.0.0.2", "::1"];
const lookUp = async (): Promise<readonly string[]> => addresses;

async function slowServer(): Promise<FrozenServer> {
  const server = await startFrozenServer("127.0.0.2");
  closers.push(() => server.stop());
  return server;
}

describe("a slow handshake beside an address that refuses ends no attempt", () => {
  test("of undici", async () => {
    const slow = await slowServer();
    const dispatcher = new Agent({ connect: overlappingConnector({ timeout: 5_000, lookUp }) });
    closers.push(() => dispatcher.destroy());
    setTimeout(() => slow.release(), 400);
    const { statusCode, body } = await send(`http://slow.test:${slow.port}/`, { dispatcher });
    expect([statusCode, await body.text()]).toEqual([200, "slow"]);
  });

  test("of node:http", async () => {
    const slow = await slowServer();
    const agent = withOverlappingAttempts(new HttpAgent(), lookUp);
    setTimeout(() => slow.release(), 400);
    const sent = request(`http://slow.test:${slow.port}/`, { agent }).end();
    const [response] = (await once(sent, "response")) as [{ readonly statusCode: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(200);
  });
});

describe("an address that is never connected", () => {
  const sendTo = async (host: string, found: readonly string[]) => {
    const server = await slowServer();
    server.release();
    const rejects = isMetadataAddress;
    const connect = overlappingConnector({ timeout: 2_000, rejects, lookUp: async () => found });
    const dispatcher = new Agent({ connect });
    closers.push(() => dispatcher.destroy());
    const { statusCode, body } = await send(`http://${host}:${server.port}/`, { dispatcher });
    await body.dump();
    return statusCode;
  };

  test.each([
    ["rebound.test", ["169.254.169.254", "fe80::1%lo", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "fd00:ec2::254"]],
    ["169.254.169.254", []],
    ["[fe80::1]", []],
  ])("%s is refused by its look-up too", async (host, found) => {
    await expect(sendTo(host, found)).rejects.toThrow(/resolves only to blocked addresses/u);
  });

  test("leaves the other addresses of its name", async () => {
    expect(await sendTo("both.test", ["169.254.169.254", "127.0.0.2"])).toBe(200);
  });
});

describe("TLS over a connection of overlapping attempts", () => {
  const identity = selfSignedCertificate(["secure.test"]);
  const local = async (): Promise<readonly string[]> => ["::1", "127.0.0.1"];

  async function secureServer(): Promise<{ readonly port: number; readonly names: unknown[] }> {
    const names: unknown[] = [];
    const server = createServer(identity, (_, response) => void response.end("secure"));
    server.on("secureConnection", (socket) => names.push(socket.servername));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(
      () => void server.close(),
      () => server.closeAllConnections(),
    );
    return { port: (server.address() as AddressInfo).port, names };
  }

  test("names the host and checks its certificate with undici", async () => {
    const { port, names } = await secureServer();
    const dispatcher = new Agent({
      connect: overlappingConnector({ timeout: 5_000, lookUp: local, ca: identity.cert }),
    });
    closers.push(() => dispatcher.destroy());
    const { body } = await send(`https://secure.test:${port}/`, { dispatcher });
    expect(await body.text()).toBe("secure");
    expect(names).toEqual(["secure.test"]);
    await expect(send(`https://other.test:${port}/`, { dispatcher })).rejects.toMatchObject({
      code: "ERR_TLS_CERT_ALTNAME_INVALID",
    });
  });

  test("names the host and checks its certificate with node:https", async () => {
    const { port, names } = await secureServer();
    const agent = withOverlappingAttempts(new HttpsAgent({ ca: identity.cert }), local);
    const sent = requestSecure(`https://secure.test:${port}/`, { agent }).end();
    const [response] = (await once(sent, "response")) as [{ readonly statusCode: number; resume(): void }];
    response.resume();
    expect([response.statusCode, names]).toEqual([200, ["secure.test"]]);
    const other = requestSecure(`https://other.test:${port}/`, { agent }).end();
    await expect(once(other, "response")).rejects.toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  });

  test("ends at the time limit when the server completes no handshake", async () => {
    const { createServer: createTcpServer } = await import("node:net");
    const server = createTcpServer((socket) => void closers.push(() => void socket.destroy())).listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(() => void server.close());
    const dispatcher = new Agent({ connect: overlappingConnector({ timeout: 300, lookUp: local }) });
    closers.push(() => dispatcher.destroy());
    const { port } = server.address() as AddressInfo;
    await expect(send(`https://secure.test:${port}/`, { dispatcher })).rejects.toMatchObject({
      code: "UND_ERR_CONNECT_TIMEOUT",
    });
  });
});
