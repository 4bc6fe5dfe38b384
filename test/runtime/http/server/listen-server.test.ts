import fastify from "fastify";
import { request } from "undici";
import { expect, test } from "vitest";
import { availableHost, listenServer } from "../../../../runtime/http/server/listen-server.ts";

test("a server on every address responds over IPv4 and IPv6", async () => {
  const app = fastify();
  app.get("/", () => "here");
  const { port } = new URL(await listenServer(app, "::", 0));
  try {
    for (const host of ["127.0.0.1", "[::1]"]) {
      const { body } = await request(`http://${host}:${port}/`);
      expect([host, await body.text()]).toEqual([host, "here"]);
    }
  } finally {
    await app.close();
  }
});

test("any other host is used as it is", async () => {
  expect(await availableHost("127.0.0.1")).toBe("127.0.0.1");
});
