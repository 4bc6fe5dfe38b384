import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { PublishOrder, PublishResult } from "./publisher-process.ts";
import type { QueryOrder, QueryResult } from "./query-load-process.ts";
import type { Arrival, SinkOrder } from "./sink-process.ts";

/** Partners that answer 200, in a process of their own. */
interface Sink {
  readonly pid: number;
  /** Starts one endpoint per delay, in milliseconds; answers their ports. */
  open(delaysMs: readonly number[]): Promise<readonly number[]>;
  /** Requests so far, and different pairs of endpoint and event among them. */
  count(): Promise<{ readonly requests: number; readonly distinct: number }>;
  arrivals(): Promise<readonly Arrival[]>;
  forget(): Promise<void>;
  stop(): Promise<void>;
}

/** Publishers over HTTP, in a process of their own. */
interface Publisher {
  readonly pid: number;
  publish(order: PublishOrder): Promise<PublishResult>;
  stop(): Promise<void>;
}

/** Callers of the metrics API, in a process of their own. */
export interface QueryLoad {
  run(order: QueryOrder): Promise<QueryResult>;
  stop(): Promise<void>;
}

export async function startQueryLoad(): Promise<QueryLoad> {
  const child = await started("query-load-process.ts");
  return { run: async (order) => (await asked(child, order)) as QueryResult, stop: () => ended(child) };
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
    pid: child.pid ?? 0,
    open: async (delaysMs) => (await ask({ ask: "open", delaysMs })) as readonly number[],
    count: async () => (await ask({ ask: "count" })) as { requests: number; distinct: number },
    arrivals: async () => (await ask({ ask: "arrivals" })) as readonly Arrival[],
    forget: async () => void (await ask({ ask: "forget" })),
    stop: () => ended(child),
  };
}

export async function startPublisher(): Promise<Publisher> {
  const child = await started("publisher-process.ts");
  return {
    pid: child.pid ?? 0,
    publish: async (order) => (await asked(child, order)) as PublishResult,
    stop: () => ended(child),
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
