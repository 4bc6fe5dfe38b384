import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startNatsServer } from "../support/nats-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";
import { chartFolder } from "./values-schema.ts";

const script = join(chartFolder, "files", "nats", "check-store.ts");
const cluster = `
server_name: n0
accounts { S { users: [{ user: s, password: s }] } }
system_account: S
cluster { name: C, listen: "127.0.0.1:-1", routes: ["nats://127.0.0.1:1"] }`;

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder("check-store");
});

afterEach(() => folder.remove());

async function checked(kind: "single" | "cluster"): Promise<string> {
  const { code, stderr } = await run(process.execPath, [script, join(folder.path, "jetstream"), kind], {
    timeoutMs: 10_000,
  });
  return code === 0 ? "good" : stderr.trim();
}

describe("the volume of NATS is taken", () => {
  test("by either kind of server while it is empty", async () => {
    expect([await checked("single"), await checked("cluster")]).toEqual(["good", "good"]);
  });

  test("by a single server alone once one stored something", async () => {
    const server = await startNatsServer({ storeDir: folder.path });
    const connection = await connect({ servers: server.url });
    await (await jetstreamManager(connection)).streams.add({ name: "KEPT", subjects: ["kept"] });
    await connection.close();
    await server.stop();
    expect(await checked("single")).toBe("good");
    expect(await checked("cluster")).toMatch(
      /^This volume holds what a single server \(nats\.replicas=1\) stored, .*nothing is lost\.$/u,
    );
  });

  test("by a server of a cluster alone once one started", async () => {
    const server = await startNatsServer({ storeDir: folder.path, config: cluster });
    await server.stop();
    expect(await checked("cluster")).toBe("good");
    expect(await checked("single")).toMatch(/^This volume holds what a cluster \(nats\.replicas=3\) stored/u);
  });
});
