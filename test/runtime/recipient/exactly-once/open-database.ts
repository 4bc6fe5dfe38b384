import type { Database } from "./database.ts";

/** Each loads the client of its database alone: processes of the proof start often. */
const openers: Readonly<Record<string, (url: string) => Promise<Database>>> = {
  postgres: async (url) => (await import("./postgres-database.ts")).openPostgresDatabase(url),
  redis: async (url) => (await import("./redis-database.ts")).openRedisDatabase(url),
  nats: async (url) => (await import("./nats-database.ts")).openNatsDatabase(url),
};

/** Connects to a database: `postgres`, `redis` or `nats`. */
export async function openDatabase(name: string, url: string): Promise<Database> {
  const open = openers[name];
  if (open === undefined) throw new Error(`there is no database ${name}`);
  return open(url);
}
