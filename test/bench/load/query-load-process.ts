import { Pool } from "undici";
import { sharedNowMs } from "./measure.ts";

/**
 * The order of a load of queries. Every client sends its next request after the last response, or at its rate.
 */
export interface QueryOrder {
  readonly origin: string;
  readonly seconds: number;
  readonly clients: readonly QueryClient[];
  /** Of each client; 0: as fast as answers come. */
  readonly perSecond: number;
}

/** One of them. */
export interface QueryClient {
  readonly headers: Readonly<Record<string, string>>;
  /** Asked in turn. */
  readonly paths: readonly string[];
}

/** Answers of one kind: status and where the cache says they are from. */
export interface QueryResult {
  readonly seconds: number;
  readonly kinds: Readonly<Record<string, readonly number[]>>;
}

process.on("message", (order: QueryOrder) => void run(order).then((result) => process.send?.(result)));

async function run({ origin, seconds, clients, perSecond }: QueryOrder): Promise<QueryResult> {
  const pool = new Pool(origin, { connections: clients.length, pipelining: 1 });
  const kinds: Record<string, number[]> = {};
  const startMs = sharedNowMs();
  const endMs = startMs + seconds * 1_000;
  const ask = async ({ headers, paths }: QueryClient, turn: number): Promise<void> => {
    const sentMs = sharedNowMs();
    const answer = await pool.request({ path: paths[turn % paths.length] ?? "/", method: "GET", headers });
    await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER });
    const [from = "none"] = String(answer.headers["x-query-cache"] ?? "none").split(";");
    const hasMiss = /;miss=[1-9]/u.test(String(answer.headers["x-query-cache"]));
    (kinds[`${answer.statusCode} ${from}${hasMiss ? " and stores" : ""}`] ??= []).push(sharedNowMs() - sentMs);
  };
  const closed = async (client: QueryClient): Promise<void> => {
    for (let turn = 0; sharedNowMs() < endMs; turn += 1) await ask(client, turn);
  };
  /** At fixed times, so that an answer that is late delays no other request. */
  const open = async (client: QueryClient, place: number): Promise<void> => {
    const running: Promise<void>[] = [];
    for (let turn = 0; turn < seconds * perSecond; turn += 1) {
      const dueMs = startMs + ((turn + place / clients.length) * 1_000) / perSecond;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - sharedNowMs())));
      running.push(ask(client, turn));
    }
    await Promise.all(running);
  };
  await Promise.all(clients.map((client, place) => (perSecond === 0 ? closed(client) : open(client, place))));
  await pool.close();
  return { seconds: (sharedNowMs() - startMs) / 1_000, kinds };
}
