import { Pool, type PoolClient } from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  createPostgresSeenStore,
  postgresSeenSchema,
  type PostgresClient,
  type PostgresSeenStore,
} from "../../../../runtime/recipient/stores/postgres-seen-store.ts";
import { startPostgres, type PostgresHandle } from "../../../support/debian/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { findDebianServer } from "../../../tools/debian-server.ts";
import { testSeenStore } from "./seen-store-contract.ts";

const found = await findDebianServer("postgres");
const nothing = async (): Promise<void> => {};
const poolSize = 12;

describe.skipIf("missing" in found)("the store in Postgres", () => {
  let server: PostgresHandle;
  let pool: Pool;
  let store: PostgresSeenStore<PoolClient>;
  beforeAll(async () => {
    server = await startPostgres(found);
    pool = new Pool({ connectionString: server.url, max: poolSize });
    pool.on("error", () => undefined);
    await pool.query(postgresSeenSchema);
    await pool.query("CREATE TABLE payouts (event_id text NOT NULL, CONSTRAINT once UNIQUE (event_id) DEFERRABLE)");
    store = createPostgresSeenStore({ connect: () => pool.connect() });
  });
  afterAll(async () => {
    await pool.end();
    await server.stop();
  });
  beforeEach(async () => {
    await pool.query("TRUNCATE heliograph_seen_events, payouts");
  });

  const pay = (id: string) => (client: PoolClient) =>
    client.query("INSERT INTO payouts VALUES ($1)", [id]).then(() => undefined);
  const paid = async (): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ event_id: string }>("SELECT event_id FROM payouts ORDER BY 1");
    return rows.map((row) => row.event_id);
  };

  testSeenStore(() => store);

  test("applies its schema twice", async () => {
    await store.once("e1", "v1", nothing);
    await pool.query(postgresSeenSchema);
    expect(await store.find("e1")).toBeDefined();
  });

  test("keeps the record under the key of the seed (Webhook Event Delivery §2.2)", async () => {
    await store.once("e1", "v1", nothing);
    const { rows } = await pool.query("SELECT key, status, handler_version FROM heliograph_seen_events");
    expect(rows).toEqual([{ key: "idempotency:event:e1", status: "ok", handler_version: "v1" }]);
  });

  test("undoes the effect with the mark when the effect fails", async () => {
    const failing = store.once("e1", "v1", async (client) => {
      await pay("e1")(client);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await paid()).toEqual([]);
    expect(await store.once("e1", "v1", pay("e1"))).toBe("processed");
    expect(await paid()).toEqual(["e1"]);
  });

  test("refuses an effect that ignored a failed statement, since its COMMIT would undo all", async () => {
    const careless = store.once("e1", "v1", async (client) => {
      await pay("e1")(client);
      await client.query("SELECT 1 / 0").catch(() => undefined);
    });
    await expect(careless).rejects.toThrow("current transaction is aborted");
    expect(await store.find("e1")).toMatchObject({ status: "error" });
    expect(await paid()).toEqual([]);
  });

  test.each(["ROLLBACK", "COMMIT", "ROLLBACK; BEGIN"])(
    "refuses an effect that ends the transaction by %s",
    async (end) => {
      const ending = store.once("e1", "v1", async (client) => {
        await client.query(end);
      });
      await expect(ending).rejects.toThrow("ended the transaction; leave that to the store");
    },
  );

  test("fails when a constraint fails at the commit", async () => {
    const late = store.once("e1", "v1", async (client) => {
      await client.query("SET CONSTRAINTS once DEFERRED");
      await pay("e1")(client);
      await pay("e1")(client);
    });
    await expect(late).rejects.toThrow("duplicate key");
    expect(await store.find("e1")).toMatchObject({ status: "error" });
    expect(await paid()).toEqual([]);
  });

  test("loses neither effect nor connection when the server ends a connection under way", async () => {
    const cut = store.once("e1", "v1", async (client) => {
      await pay("e1")(client);
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      // Without a listener, the client's error would end this process.
      client.on("error", () => undefined);
      await pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
    });
    await expect(cut).rejects.toThrow(/terminat|connection/iu);
    const again = async (): Promise<boolean> => (await store.once("e1", "v1", pay("e1"))) === "processed";
    await waitFor(again, { timeoutMs: 10_000, what: "the end of the first transaction" });
    expect(await paid()).toEqual(["e1"]);
    expect(pool.totalCount).toBeLessThanOrEqual(poolSize);
  });

  test("gives every connection back", async () => {
    for (let turn = 0; turn < 3 * poolSize; turn += 1) {
      await store
        .once(`e${turn}`, "v1", turn % 2 === 0 ? nothing : () => Promise.reject(new Error("no")))
        .catch(() => {});
    }
    expect(pool.idleCount).toBe(pool.totalCount);
    expect(pool.waitingCount).toBe(0);
  });

  test("keeps the mark of a copy that succeeded before the failure of this one was recorded", async () => {
    const connect = async (): Promise<PostgresClient> => {
      const client = await pool.connect();
      const query = async (text: string, values?: unknown[]) => {
        const result = await client.query(text, values);
        if (text === "ROLLBACK") await store.once("e1", "v2", nothing);
        return result;
      };
      return { query, release: (destroy) => client.release(destroy) };
    };
    const slow = createPostgresSeenStore({ connect });
    await expect(slow.once("e1", "v1", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await store.find("e1")).toMatchObject({ status: "ok", handlerVersion: "v2" });
  });

  test("remembers for 8 days and no longer (Webhook Event Delivery §8)", async () => {
    await store.once("e1", "v1", nothing);
    const { rows } = await pool.query<{ days: number }>(
      "SELECT extract(epoch FROM expires_at - processed_at)::float8 / 86400 AS days FROM heliograph_seen_events",
    );
    expect(rows).toEqual([{ days: 8 }]);
    await pool.query("UPDATE heliograph_seen_events SET expires_at = now()");
    expect(await store.find("e1")).toBeUndefined();
    expect(await store.once("e1", "v2", nothing)).toBe("processed");
    expect(await store.once("e1", "v3", nothing)).toBe("seen");
  });

  test("refuses a time of less than a day (Webhook Event Delivery §8)", () => {
    expect(() => createPostgresSeenStore({ connect: () => pool.connect(), ttlSeconds: 86_399 })).toThrow(RangeError);
  });

  test("deletes expired events in batches, up to a limit, and no others", async () => {
    await pool.query(`INSERT INTO heliograph_seen_events (key, status, processed_at, handler_version, expires_at)
      SELECT 'old' || n, 'ok', now(), 'v1', now() - interval '1 s' FROM generate_series(1, 2500) AS n`);
    await store.once("e1", "v1", nothing);
    expect(await store.deleteExpired(1_200)).toBe(1_200);
    expect(await store.deleteExpired()).toBe(1_300);
    expect(await store.deleteExpired()).toBe(0);
    expect(await store.find("e1")).toBeDefined();
  });

  test("keeps the records of two uses of one table apart", async () => {
    const other = createPostgresSeenStore({ connect: () => pool.connect(), keyPrefix: "other:" });
    await store.once("e1", "v1", nothing);
    expect(await other.once("e1", "v1", nothing)).toBe("processed");
  });

  describe("with the package postgres", () => {
    test("runs an effect once, undoes a failure and gives connections back", async () => {
      const sql = postgres(server.url, { max: 2, onnotice: () => undefined });
      const connect = async (): Promise<PostgresClient> => {
        const reserved = await sql.reserve();
        const query = async (text: string, values: unknown[] = []) => ({
          rows: await reserved.unsafe(text, values as string[]),
        });
        return { query, release: () => reserved.release() };
      };
      const own = createPostgresSeenStore({ connect });
      const effect = (client: PostgresClient) =>
        client.query("INSERT INTO payouts VALUES ('p1')").then(() => undefined);
      await expect(own.once("p1", "v1", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
      for (const expected of ["processed", "seen", "seen", "seen"])
        expect(await own.once("p1", "v2", effect)).toBe(expected);
      expect(await own.find("p1")).toMatchObject({ status: "ok", handlerVersion: "v2" });
      expect(await paid()).toEqual(["p1"]);
      await sql.end();
    });
  });
});
