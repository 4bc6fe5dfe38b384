import "./end-with-bench.ts";
import { connect, type Socket } from "node:net";
import { HttpReader, type Head } from "./http-reader.ts";

/** The order of a load of requests: one connection for each client, which waits for its response before it sends. */
export interface RequestOrder {
  /** Of the servers, which the clients use in turn. */
  readonly ports: readonly number[];
  /** The whole texts of each client's requests, sent in turn. */
  readonly clients: readonly (readonly string[])[];
  /** How long requests are sent; 0: each request once. */
  readonly seconds: number;
  /** Of each client, at fixed times; 0: as fast as responses come. */
  readonly perSecond: number;
}

/** Milliseconds of each response since it was due, by status and by what the cache said. */
export interface RequestResult {
  readonly seconds: number;
  readonly bytes: number;
  readonly kinds: Readonly<Record<string, readonly number[]>>;
}

/** One for all connections, so that it stays in the processor's cache: a reader keeps no bytes. */
const readBuffer = Buffer.allocUnsafe(64 * 1_024);

process.on("message", (order: RequestOrder) => {
  void run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      throw error;
    },
  );
});

async function run({ ports, clients, seconds, perSecond }: RequestOrder): Promise<RequestResult> {
  const kinds = new Map<string, number[]>();
  const startMs = performance.now();
  const load = { endMs: seconds === 0 ? Number.POSITIVE_INFINITY : startMs + seconds * 1_000, kinds, bytes: 0 };
  const client = (requests: readonly string[], place: number): Promise<void> => {
    const periodMs = perSecond === 0 ? 0 : 1_000 / perSecond;
    const firstMs = startMs + (place / clients.length) * periodMs;
    return askAll(ports[place % ports.length] ?? 0, requests, { load, isRepeated: seconds > 0, firstMs, periodMs });
  };
  await Promise.all(clients.map(client));
  return { seconds: (performance.now() - startMs) / 1_000, bytes: load.bytes, kinds: Object.fromEntries(kinds) };
}

interface Turns {
  readonly load: { readonly endMs: number; readonly kinds: Map<string, number[]>; bytes: number };
  readonly isRepeated: boolean;
  readonly firstMs: number;
  /** 0: without a pause. */
  readonly periodMs: number;
}

/** Resolves when the last response is there. */
function askAll(port: number, requests: readonly string[], turns: Turns): Promise<void> {
  const { load, isRepeated, firstMs, periodMs } = turns;
  const texts = requests.map((text) => Buffer.from(text, "latin1"));
  return new Promise((resolve, reject) => {
    let turn = 0;
    let dueMs = 0;
    const reader = new HttpReader((head) => {
      add(load.kinds, kindOf(head), performance.now() - dueMs);
      turn += 1;
      next();
    });
    const socket: Socket = connect({
      port,
      host: "127.0.0.1",
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (count, buffer) => {
          load.bytes += count;
          reader.push((buffer as Buffer).subarray(0, count));
          return true;
        },
      },
    });
    const end = (): void => {
      socket.destroy();
      resolve();
    };
    const send = (): void => void socket.write(texts[turn % texts.length] ?? "");
    function next(): void {
      const nowMs = performance.now();
      dueMs = periodMs === 0 ? nowMs : firstMs + turn * periodMs;
      if ((periodMs === 0 ? nowMs : dueMs) >= load.endMs || (!isRepeated && turn >= texts.length)) end();
      else if (dueMs > nowMs) setTimeout(send, dueMs - nowMs);
      else send();
    }
    socket.once("connect", next);
    socket.once("error", reject);
    socket.once("end", () => reject(new Error("the server closed a connection")));
  });
}

function add(kinds: Map<string, number[]>, kind: string, ms: number): void {
  const known = kinds.get(kind);
  if (known === undefined) kinds.set(kind, [ms]);
  else known.push(ms);
}

/** Where points came from by the counts of `X-Query-Cache`: whether some were known, and whether some were missing. */
const sources: Readonly<Record<string, string>> = {
  "true true": "mixed",
  "true false": "points",
  "false true": "stores",
  "false false": "empty",
};

/**
 * The status, and after it `response` for one that was kept whole, `points` for one of known points, `stores` for one
 * of points that only stores had, and `mixed` for both.
 */
function kindOf({ status, text }: Head): string {
  const cache = /\r\nx-query-cache: *(?<value>[^\r]*)/iu.exec(text)?.groups?.["value"];
  if (cache === undefined) return String(status);
  if (!cache.startsWith("memory")) return `${status} ${cache.startsWith("answer") ? "response" : cache}`;
  return `${status} ${sources[`${/hit=[1-9]/u.test(cache)} ${/miss=[1-9]/u.test(cache)}`] ?? ""}`;
}
