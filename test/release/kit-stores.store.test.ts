import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createClient } from "@redis/client";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { Client } from "pg";
import { request } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { postgresSeenSchema } from "../../runtime/recipient/stores/postgres-seen-store.ts";
import { signHmacV1 } from "../../runtime/webhooks/signing/hmac-v1.ts";
import { event } from "../runtime/recipient/signed-delivery.ts";
import { startPostgres } from "../support/debian/postgres.ts";
import { startRedis } from "../support/debian/redis.ts";
import { freePort } from "../support/free-port.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { startServerProcess, type ServerProcess } from "../support/server-process.ts";
import { findDebianServer } from "../tools/debian-server.ts";
import { succeed } from "../tools/run.ts";
import { installKit, nodePrograms, writeExamples, type InstalledKit } from "./installed-kit.ts";

const page = "stores.md";
const pagePath = join(dirname(dirname(import.meta.dirname)), "docs", "recipients", page);
const signingKey = "a-signing-key-of-forty-characters-000000";
const commandMsMax = 60_000;
const postgres = await findDebianServer("postgres");
const redis = await findDebianServer("redis-server");
const programs = await nodePrograms();

describe("the page of the stores, with the kit from its archive", () => {
  let kit: InstalledKit;
  let names: readonly string[];
  const servers: { stop(): Promise<void> }[] = [];
  beforeAll(async () => {
    kit = await installKit();
    for (const name of ["pg", "postgres", "@redis/client", "@nats-io/kv", "@nats-io/transport-node"])
      await kit.link(name);
    names = await writeExamples(kit.path, page);
  });
  afterEach(async () => {
    for (const server of servers.splice(0).reverse()) await server.stop();
  });
  afterAll(async () => kit.remove());

  async function start(name: string, env: Readonly<Record<string, string>>): Promise<string> {
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const server: ServerProcess = await startServerProcess({
      name,
      command: process.execPath,
      args: [name],
      cwd: kit.path,
      env: { PORT: String(port), SIGNING_KEY: signingKey, ...env },
      ready: async () => (await request(url)).statusCode > 0,
    });
    servers.push(server);
    return `${url}/webhooks/v1/payout`;
  }

  test("has these examples", () => {
    expect(names).toEqual(["postgres.js", "postgres-connect.js", "redis.js", "nats.js"]);
  });

  test.each(programs)("shows entries that load on Node $version", async ({ path }) => {
    const text = await readFile(pagePath, "utf8");
    const entries = [...text.matchAll(/"(?<entry>@heliograph-dev\/recipient\/[\w-]+)"/gu)].map(([entry]) => entry);
    expect(new Set(entries).size).toBe(4);
    const script = entries.map((entry) => `import ${entry};`).join("\n");
    const args = ["--input-type=module", "--eval", script];
    expect(await succeed(path, args, { cwd: kit.path, timeoutMs: commandMsMax })).toBe("");
  });

  test("shows the table as the kit creates it", async () => {
    const text = await readFile(pagePath, "utf8");
    expect(/^```sql\n(?<sql>[^]*?)^```$/mu.exec(text)?.groups?.["sql"]).toBe(postgresSeenSchema);
  });

  describe.skipIf("missing" in postgres)("on Postgres", () => {
    test("books a payout once, and once more by the other client", async () => {
      const server = await startPostgres(postgres);
      servers.push(server);
      const client = new Client(server.url);
      await client.connect();
      await client.query(`${postgresSeenSchema}; CREATE TABLE payouts (payout_id text, status text)`);
      const url = await start("postgres.js", { DATABASE_URL: server.url });
      expect([await post(url), await post(url), await post(url)]).toEqual([200, 200, 200]);

      await succeed(process.execPath, ["--input-type=module", "--eval", otherClient], {
        cwd: kit.path,
        env: { DATABASE_URL: server.url },
        timeoutMs: commandMsMax,
      });
      const { rows } = await client.query("SELECT payout_id, status FROM payouts ORDER BY 1");
      expect(rows).toEqual([
        { payout_id: "p-1", status: "ok" },
        { payout_id: "p-2", status: "ok" },
      ]);
      await client.end();
    });
  });

  describe.skipIf("missing" in redis)("on Redis", () => {
    test("books a payout once", async () => {
      const server = await startRedis(redis);
      servers.push(server);
      const url = await start("redis.js", { REDIS_URL: server.url });
      expect([await post(url), await post(url)]).toEqual([200, 200]);
      const client = createClient({ url: server.url });
      await client.connect();
      expect({ ...(await client.hGetAll("payouts")) }).toEqual({ "p-1": "ok" });
      expect(await client.get("idempotency:event:evt_1")).toContain('"status":"ok"');
      client.destroy();
    });
  });

  test("books a payout once on NATS", async () => {
    const server = await startNatsServer();
    servers.push(server);
    const url = await start("nats.js", { NATS_URL: server.url });
    expect([await post(url), await post(url)]).toEqual([200, 200]);
    const connection = await connect({ servers: server.url });
    const bucket = await new Kvm(connection).open("seen-events");
    expect((await bucket.get("idempotency=3Aevent=3Aevt_1"))?.json()).toMatchObject({ status: "ok" });
    await connection.close();
  });
});

const otherClient = `
  import { createPostgresSeenStore } from "@heliograph-dev/recipient/postgres";
  import { connect } from "./postgres-connect.js";
  const store = createPostgresSeenStore({ connect });
  const pay = (client) => client.query("INSERT INTO payouts VALUES ('p-2', 'ok')").then(() => undefined);
  const results = [await store.once("evt_2", "1", pay), await store.once("evt_2", "1", pay)];
  if (results.join() !== "processed,seen") throw new Error(results.join());
  process.exit(0);
`;

async function post(url: string): Promise<number> {
  const body = Buffer.from(JSON.stringify(event));
  const timestamp = new Date().toISOString();
  const { pathname: path } = new URL(url);
  const signature = signHmacV1(Buffer.from(signingKey), { timestamp, method: "POST", path, body });
  const headers = { "x-signature": signature, "x-timestamp": timestamp, "content-type": "application/json" };
  const response = await request(url, { method: "POST", body, headers });
  await response.body.dump();
  return response.statusCode;
}
