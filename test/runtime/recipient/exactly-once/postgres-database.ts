import { Pool } from "pg";
import {
  createPostgresSeenStore,
  postgresSeenSchema,
} from "../../../../runtime/recipient/stores/postgres-seen-store.ts";
import { paying, type Database, type Effects } from "./database.ts";

const connectionsMax = 10;
const accounts = 7;

/** Each effect adds a row without a unique key and one to a balance, so that a doubled effect is seen in both. */
export async function openPostgresDatabase(url: string): Promise<Database> {
  const pool = new Pool({ connectionString: url, max: connectionsMax });
  // A server that stops at the end of the test ends idle connections.
  pool.on("error", () => undefined);
  return {
    store: paying(createPostgresSeenStore({ connect: () => pool.connect() }), async (eventId, client) => {
      await client.query("INSERT INTO effects VALUES ($1)", [eventId]);
      // A moment in which a kill finds the transaction open.
      await client.query("SELECT pg_sleep(0.002)");
      const account = "(hashtext($1) % $2 + $2) % $2";
      await client.query(`UPDATE accounts SET balance = balance + 1 WHERE id = ${account}`, [eventId, accounts]);
    }),
    prepare: async () => {
      await pool.query(`${postgresSeenSchema};
        CREATE TABLE effects (event_id text NOT NULL);
        CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL);
        INSERT INTO accounts SELECT n, 0 FROM generate_series(0, ${accounts - 1}) AS n`);
    },
    count: async () => {
      const { rows } = await pool.query<Effects>(`SELECT count(DISTINCT event_id)::int AS events,
        count(*)::int AS effects, (SELECT sum(balance)::int FROM accounts) AS runs FROM effects`);
      return rows[0] ?? { events: 0, effects: 0, runs: 0 };
    },
    close: () => pool.end(),
  };
}
