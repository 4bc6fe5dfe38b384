import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { startNatsServer } from "./nats-server.ts";

async function publish(url: string, subject: string): Promise<number> {
  const connection = await connect({ servers: url });
  const acknowledged = await jetstream(connection).publish(subject, "x");
  await connection.close();
  return acknowledged.seq;
}

test("a server that was killed restarts on its port with what it had stored", async () => {
  const server = await startNatsServer({ syncInterval: "always" });
  const connection = await connect({ servers: server.url });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: "KEPT", subjects: ["kept.>"], storage: "file" });
  await connection.close();
  expect(await publish(server.url, "kept.one")).toBe(1);
  const { pid, url } = server;
  await server.kill9();
  await server.restart();
  expect(server.pid).not.toBe(pid);
  expect(await publish(url, "kept.two")).toBe(2);
  await server.stop();
  expect(existsSync(server.storeDir)).toBe(false);
});

test("a server with a broken configuration is reported with its own words", async () => {
  await expect(startNatsServer({ config: "accounts {" })).rejects.toThrow(/nats-server ended with 1[^]*Parse error/u);
});
