import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { PublishOrder, PublishResult } from "./publisher-process.ts";
import { residentMebibytes } from "../harness/processes.ts";
import type { RequestOrder, RequestResult } from "./request-process.ts";
import type { Arrival, SinkOrder } from "./sink-process.ts";

/** Partners that answer 200, in a process of their own. */
export interface Sink {
  /** Starts one endpoint per delay, in milliseconds; answers their ports. */
  open(delaysMs: readonly number[]): Promise<readonly number[]>;
  /** Requests so far, and different pairs of endpoint and event among them. */
  count(): Promise<{ readonly requests: number; readonly distinct: number }>;
  arrivals(): Promise<readonly Arrival[]>;
  forget(): Promise<void>;
  stop(): Promise<void>;
}

/** Publishers over HTTP, in processes of their own. */
export interface Publishers {
  /** Spreads the events and the publishers of an order over the processes. */
  publish(order: PublishOrder): Promise<PublishResult>;
  stop(): Promise<void>;
}

/** Clients over HTTP, in processes of their own. */
export interface RequestLoad {
  /** Runs the clients of an order, spread over the processes. */
  run(order: RequestOrder): Promise<RequestResult>;
  stop(): Promise<void>;
}

/** @param count of processes; one sends some tens of thousands of requests a second */
export async function startRequestLoad(count: number): Promise<RequestLoad> {
  const children = await Promise.all(Array.from({ length: count }, () => started("request-process.ts")));
  return {
    run: async ({ clients, ...order }) => {
      const parts = children
        .map((child, place) => ({ child, clients: clients.filter((_, index) => index % count === place) }))
        .filter((part) => part.clients.length > 0);
      return joined(
        await Promise.all(
          parts.map(async (part) => (await asked(part.child, { ...order, clients: part.clients })) as RequestResult),
        ),
      );
    },
    stop: async () => void (await Promise.all(children.map(ended))),
  };
}

function joined(results: readonly RequestResult[]): RequestResult {
  const names = new Set(results.flatMap(({ kinds }) => Object.keys(kinds)));
  return {
    seconds: Math.max(...results.map(({ seconds }) => seconds)),
    bytes: results.reduce((sum, { bytes }) => sum + bytes, 0),
    kinds: Object.fromEntries([...names].map((name) => [name, results.flatMap(({ kinds }) => kinds[name] ?? [])])),
  };
}

/** A server that sends this many bytes from memory, in a process of its own. */
export async function startBareServer(
  bytes: number,
): Promise<{ readonly port: number; residentMebibytes(): number; stop(): Promise<void> }> {
  const child = await started("bare-server-process.ts");
  const port = Number(await asked(child, { bytes }));
  return { port, residentMebibytes: () => residentMebibytes(child.pid ?? 0), stop: () => ended(child) };
}

/** A proxy before a store, in a separate process. */
export async function startBareProxy(store: string): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const child = await started("bare-proxy-process.ts");
  return { port: Number(await asked(child, { store })), stop: () => ended(child) };
}

/** A store whose answers cost this process nothing. */
export async function startStore(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const child = await started("store-process.ts");
  return { url: String(await asked(child, {})), stop: () => ended(child) };
}

export async function startSink(): Promise<Sink> {
  const child = await started("sink-process.ts");
  const ask = async (order: SinkOrder): Promise<unknown> => asked(child, order);
  return {
    open: async (delaysMs) => (await ask({ ask: "open", delaysMs })) as readonly number[],
    count: async () => (await ask({ ask: "count" })) as { requests: number; distinct: number },
    arrivals: async () => (await ask({ ask: "arrivals" })) as readonly Arrival[],
    forget: async () => void (await ask({ ask: "forget" })),
    stop: () => ended(child),
  };
}

/** @param count of processes; one sends some thousands of events a second */
export async function startPublishers(count: number): Promise<Publishers> {
  const children = await Promise.all(Array.from({ length: count }, () => started("publisher-process.ts")));
  const shareOf = (total: number, place: number): number => Math.floor((total + place) / count);
  return {
    publish: async (order) => {
      let first = order.first;
      const parts = children.map((child, place) => {
        const own = { first, count: shareOf(order.count, place), publishers: shareOf(order.publishers, place) };
        first += own.count;
        return asked(child, { ...order, ...own, ratePerSecond: order.ratePerSecond / count });
      });
      const results = (await Promise.all(parts)) as readonly PublishResult[];
      return {
        sentAtMs: results.flatMap(({ sentAtMs }) => sentAtMs),
        replyMs: results.flatMap(({ replyMs }) => replyMs),
        repeated: results.reduce((sum, { repeated }) => sum + repeated, 0),
      };
    },
    stop: async () => void (await Promise.all(children.map(ended))),
  };
}

async function started(file: string): Promise<ChildProcess> {
  const child = fork(new URL(file, import.meta.url), { serialization: "advanced" });
  await once(child, "spawn");
  return child;
}

/** One order at a time. */
async function asked(child: ChildProcess, order: object): Promise<unknown> {
  const ending = new AbortController();
  const answer = once(child, "message", { signal: ending.signal });
  const end = once(child, "exit", { signal: ending.signal }).then(() => {
    throw new Error("the process of the benchmark ended");
  });
  child.send(order);
  try {
    const [value] = (await Promise.race([answer, end])) as [unknown];
    return value;
  } finally {
    ending.abort();
    await Promise.allSettled([answer, end]);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
