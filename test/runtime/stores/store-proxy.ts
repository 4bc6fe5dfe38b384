import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { Pool } from "undici";
import { leaveCutOff, listenOnLoopback } from "../../support/loopback.ts";

/** What happens to the requests that pass through. */
interface StoreFaults {
  /** Wait before each request, in milliseconds. @default 0 */
  readonly delayMs?: number;
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
  /** Most requests that were open at once. */
  openMax(): number;
  set(faults: StoreFaults): void;
  stop(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1. @param target URL of the store, without a path */
export async function startStoreProxy(target: string, initial: StoreFaults = {}): Promise<StoreProxy> {
  const pool = new Pool(target, { connections: 32 });
  const paths: string[] = [];
  let faults = initial;
  let [open, openMax] = [0, 0];
  const pass = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = "/" } = message;
    const body = await textOf(message);
    paths.push(path);
    if (faults.isHung === true) return;
    const isRounded = faults.isRounding === true && path.endsWith("/query_range");
    if (faults.delayMs !== undefined) await wait(faults.delayMs);
    if (!response.destroyed) await forward(path, isRounded ? rounded(body) : body, response);
  };
  const forward = async (path: string, body: string, response: ServerResponse): Promise<void> => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const far = await pool.request({ path, method: "POST", headers, body });
    response.writeHead(far.statusCode, { "content-type": "application/json" });
    response.end(await far.body.text());
  };
  const server = createServer((message, response) => {
    open += 1;
    openMax = Math.max(openMax, open);
    response.on("close", () => (open -= 1));
    pass(message, response).catch(leaveCutOff);
  });
  const loopback = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${loopback.port}`,
    paths,
    openMax: () => openMax,
    set: (next) => void (faults = next),
    async stop() {
      await loopback.close();
      await pool.destroy();
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
