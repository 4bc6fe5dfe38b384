import { readSeenStoreOptions, type SeenRecord, type SeenStore, type SeenStoreOptions } from "../seen-store.ts";

/** One connection of the caller's client, for example a `PoolClient` of the package `pg`. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  /** Gives the connection back to its pool; `true` says that nothing may use it again. */
  release(destroy?: boolean): void;
}

export interface PostgresSeenStoreOptions<Client extends PostgresClient> extends SeenStoreOptions {
  /** Takes a connection, for example `() => pool.connect()`. */
  readonly connect: () => Promise<Client>;
}

export interface PostgresSeenStore<Client extends PostgresClient> extends SeenStore<Client> {
  /**
   * Deletes events that are no longer remembered, in batches. Any process may call it, at any time.
   * @param rowsMax most events that one call deletes. @default 10000
   * @returns how many it deleted: fewer than `rowsMax` when it found no more
   */
  deleteExpired(rowsMax?: number): Promise<number>;
}

/** The table of the store, in the first schema of the `search_path`. Applying it again changes nothing. */
export const postgresSeenSchema = `CREATE TABLE IF NOT EXISTS heliograph_seen_events (
  key text PRIMARY KEY,
  status text NOT NULL CHECK (status IN ('ok', 'error')),
  processed_at timestamptz NOT NULL,
  handler_version text NOT NULL,
  outcome text,
  expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS heliograph_seen_events_expires_at ON heliograph_seen_events (expires_at);
`;

const deleteBatchRows = 1_000;
const deleteRowsDefault = 10_000;

/**
 * Stores seen events in Postgres. The effect gets the connection of the open transaction and does all its work there.
 * Mark and effect commit together: the effect happens exactly once, also when processes are killed. All times are
 * those of the database. {@link postgresSeenSchema} creates the table.
 * @throws RangeError when the time is shorter than a day
 */
export function createPostgresSeenStore<Client extends PostgresClient>({
  connect,
  ...common
}: PostgresSeenStoreOptions<Client>): PostgresSeenStore<Client> {
  const { keyOf, ttlSeconds } = readSeenStoreOptions(common);
  return {
    find: (eventId) => using(connect, (client) => find(client, keyOf(eventId))),
    once: (eventId, handlerVersion, effect) => {
      const mark = [keyOf(eventId), handlerVersion, ttlSeconds];
      const work = async (client: Client): Promise<Turn> => {
        await client.query("BEGIN");
        const turn = await takeTurn(client, mark);
        if (turn === "processed") await confirm(client, keyOf(eventId), await effect(client));
        await client.query("COMMIT");
        return turn;
      };
      return using(connect, work, (client) => undo(client, mark));
    },
    deleteExpired: (rowsMax = deleteRowsDefault) => using(connect, (client) => deleteExpired(client, rowsMax)),
  };
}

/** Lends a connection to `work`. After an error, `repair` decides by its success whether the pool keeps it. */
async function using<Client extends PostgresClient, Result>(
  connect: () => Promise<Client>,
  work: (client: Client) => Promise<Result>,
  repair: (client: Client) => Promise<void> = () => Promise.reject(new Error("unknown state")),
): Promise<Result> {
  const client = await connect();
  let isSound = true;
  try {
    return await work(client);
  } catch (error) {
    isSound = await repair(client).then(
      () => true,
      () => false,
    );
    throw error;
  } finally {
    client.release(!isSound);
  }
}

const findSql = `SELECT status, outcome, handler_version,
  (extract(epoch FROM processed_at) * 1000)::float8 AS processed_at_ms
FROM heliograph_seen_events WHERE key = $1 AND expires_at > now()`;

async function find(client: PostgresClient, key: string): Promise<SeenRecord | undefined> {
  const row = await firstRow(client, findSql, [key]);
  if (row === undefined) return undefined;
  return {
    status: row["status"] === "ok" ? "ok" : "error",
    processedAtMs: Math.floor(Number(row["processed_at_ms"])),
    handlerVersion: String(row["handler_version"]),
    ...(typeof row["outcome"] === "string" ? { outcome: row["outcome"] } : {}),
  };
}

type Turn = "processed" | "seen" | "busy";

/**
 * The advisory lock only shortens the wait of a copy that comes at the same time. The primary key is what makes the
 * effect happen once: without the lock, the copy would wait for the end of the first transaction.
 */
const takeTurnSql = `WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended($1::text, 0)) AS free
), marked AS (
  INSERT INTO heliograph_seen_events AS seen (key, status, processed_at, handler_version, expires_at)
  SELECT $1::text, 'ok', now(), $2::text, now() + make_interval(secs => $3::float8) FROM turn WHERE free
  ON CONFLICT (key) DO UPDATE SET status = excluded.status, processed_at = excluded.processed_at,
    handler_version = excluded.handler_version, outcome = NULL, expires_at = excluded.expires_at
  WHERE seen.status = 'error' OR seen.expires_at <= now()
  RETURNING key
)
SELECT free, EXISTS (SELECT FROM marked) AS marked FROM turn`;

async function takeTurn(client: PostgresClient, mark: unknown[]): Promise<Turn> {
  const row = await firstRow(client, takeTurnSql, mark);
  if (row?.["free"] !== true) return "busy";
  return row["marked"] === true ? "processed" : "seen";
}

const confirmSql = `UPDATE heliograph_seen_events SET outcome = $2::text
WHERE key = $1::text AND processed_at = now() RETURNING key`;

/**
 * Keeps the outcome and proves that the transaction is still the one with the mark. Without this, an effect that
 * ignores a failed statement would pass: Postgres answers COMMIT of a failed transaction with a rollback and no error.
 */
async function confirm(client: PostgresClient, key: string, outcome: string | void): Promise<void> {
  const row = await firstRow(client, confirmSql, [key, outcome ?? null]);
  if (row === undefined) throw new Error(`The effect of ${key} ended the transaction; leave that to the store`);
}

const failedSql = `INSERT INTO heliograph_seen_events AS seen (key, status, processed_at, handler_version, expires_at)
VALUES ($1::text, 'error', now(), $2::text, now() + make_interval(secs => $3::float8))
ON CONFLICT (key) DO UPDATE SET status = excluded.status, processed_at = excluded.processed_at,
  handler_version = excluded.handler_version, outcome = NULL, expires_at = excluded.expires_at
WHERE seen.status = 'error' OR seen.expires_at <= now()`;

/** Undoes the effect and records the failure. A copy that succeeded meanwhile keeps its mark. */
async function undo(client: PostgresClient, mark: unknown[]): Promise<void> {
  await client.query("ROLLBACK");
  await client.query(failedSql, mark);
}

/** Rows that another process deletes just now are left to it. */
const deleteExpiredSql = `WITH gone AS (
  DELETE FROM heliograph_seen_events WHERE key IN (
    SELECT key FROM heliograph_seen_events WHERE expires_at <= now()
    ORDER BY expires_at LIMIT $1::int FOR UPDATE SKIP LOCKED
  ) RETURNING key
)
SELECT count(*)::int AS gone FROM gone`;

async function deleteExpired(client: PostgresClient, rowsMax: number): Promise<number> {
  let deleted = 0;
  while (deleted < rowsMax) {
    const batch = Math.min(deleteBatchRows, rowsMax - deleted);
    const gone = Number((await firstRow(client, deleteExpiredSql, [batch]))?.["gone"]);
    deleted += gone;
    if (gone < batch) break;
  }
  return deleted;
}

async function firstRow(
  client: PostgresClient,
  text: string,
  values: unknown[],
): Promise<Readonly<Record<string, unknown>> | undefined> {
  return (await client.query(text, values)).rows[0] as Readonly<Record<string, unknown>> | undefined;
}
