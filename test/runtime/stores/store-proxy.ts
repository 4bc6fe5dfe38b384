import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { Pool } from "undici";
import { leaveCutOff, listenOnLoopback } from "../../support/loopback.ts";

/** What happens to the requests that pass through. */
interface StoreFaults {
  /** Wait before each request, in milliseconds. @default 0 */
  readonly delayMs?: number;
  /** Requests that wait or are served at once; further ones come after them. @default any number */
  readonly concurrency?: number;
  /** No request gets a response. @default false */
  readonly isHung?: boolean;
  /** Rounds the times of range queries down to their step, as Thanos' query frontend does by default. @default false */
  readonly isRounding?: boolean;
}

/** A proxy in front of a store of metrics, with faults that a test changes. */
export interface StoreProxy {
  /** Without a slash at the end. */
  readonly url: string;
  /** Paths of the requests so far. */
  readonly paths: readonly string[];
  /** Their forms. */
  readonly forms: readonly URLSearchParams[];
  /** Most requests that were open at once. */
  openMax(): number;
  /** The longest that the store took for a request since the last {@link StoreProxy.set}, without the wait. */
  slowestMs(): number;
  set(faults: StoreFaults): void;
  /** Resets the connections of the requests that hang. */
  cut(): void;
  stop(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1. @param target URL of the store, without a path */
export async function startStoreProxy(target: string, initial: StoreFaults = {}): Promise<StoreProxy> {
  const pool = new Pool(target, { connections: 32 });
  const paths: string[] = [];
  const forms: URLSearchParams[] = [];
  let faults = initial;
  const hanging = new Set<ServerResponse>();
  const places = createPlaces();
  let [open, openMax, slowestMs] = [0, 0, 0];
  const pass = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = "/" } = message;
    const body = await textOf(message);
    paths.push(path);
    forms.push(new URLSearchParams(body));
    if (faults.isHung === true) {
      hanging.add(response);
      return;
    }
    const isRounded = faults.isRounding === true && path.endsWith("/query_range");
    await places.enter(faults.concurrency);
    try {
      if (faults.delayMs !== undefined) await wait(faults.delayMs);
      if (!response.destroyed) await forward(path, isRounded ? rounded(body) : body, response);
    } finally {
      places.leave();
    }
  };
  const forward = async (path: string, body: string, response: ServerResponse): Promise<void> => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const startMs = performance.now();
    const far = await pool.request({ path, method: "POST", headers, body });
    response.writeHead(far.statusCode, { "content-type": "application/json" });
    const text = await far.body.text();
    slowestMs = Math.max(slowestMs, performance.now() - startMs);
    response.end(text);
  };
  const server = createServer((message, response) => {
    open += 1;
    openMax = Math.max(openMax, open);
    response.on("close", () => {
      open -= 1;
      hanging.delete(response);
    });
    pass(message, response).catch(leaveCutOff);
  });
  const loopback = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${loopback.port}`,
    paths,
    forms,
    openMax: () => openMax,
    slowestMs: () => slowestMs,
    set(next) {
      faults = next;
      slowestMs = 0;
    },
    cut() {
      for (const response of hanging) response.socket?.resetAndDestroy();
    },
    async stop() {
      await loopback.close();
      await pool.destroy();
    },
  };
}

/** Places that requests wait for, in the order of their arrival. */
function createPlaces() {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return {
    async enter(size = Number.POSITIVE_INFINITY): Promise<void> {
      if (taken >= size) await new Promise<void>((resolve) => waiting.push(resolve));
      else taken += 1;
    },
    leave(): void {
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next();
    },
  };
}

/** Source: Thanos, `internal/cortex/querier/queryrange`, middleware that aligns to the step. */
function rounded(body: string): string {
  const form = new URLSearchParams(body);
  const stepMs = Math.round(Number(form.get("step")) * 1_000);
  for (const name of ["start", "end"]) {
    const ms = Math.round(Number(form.get(name)) * 1_000);
    form.set(name, String(Math.floor(ms / stepMs) * (stepMs / 1_000)));
  }
  return form.toString();
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
