import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import type { InformerHealth } from "../kube/informer/informer.ts";

/** The state that the server shows. */
interface HealthServerOptions {
  readonly registry: Registry;
  /** Every watch by name. */
  readonly watches: () => ReadonlyMap<string, InformerHealth>;
  /** True once the configuration is compiled, on the leader and on the other replicas. */
  readonly isReady: () => boolean;
  readonly isLeader: () => boolean;
}

/** The server of probes and metrics. Its port is for the cluster only. */
export interface HealthServer {
  readonly url: string;
  stop(): Promise<void>;
}

const requestTimeoutMs = 5_000;

/**
 * Opens the port: `/healthz` is 500 while a watch is dead, `/readyz` 503 until the configuration is compiled,
 * `/metrics` in Prometheus's text format. A namespace that cannot be listed makes neither red; `/readyz` names it.
 *
 * @param host absent: every address
 * @param port 0 picks a free one
 * @throws Error of the operating system when the port cannot be opened
 */
export async function startHealthServer(
  options: HealthServerOptions,
  port: number,
  host?: string,
): Promise<HealthServer> {
  const routes: Readonly<Record<string, (response: ServerResponse) => Promise<void> | void>> = {
    "/healthz": (response) => sendHealth(response, options),
    "/readyz": (response) => sendReadiness(response, options),
    "/metrics": (response) => sendMetrics(response, options.registry),
  };
  const server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    const route = request.method === "GET" ? routes[path] : undefined;
    if (route === undefined) response.writeHead(404).end();
    else void respond(response, route);
  });
  server.requestTimeout = requestTimeoutMs;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  await promise;
  const address = server.address() as AddressInfo;
  const shown =
    address.family === "IPv6" && address.address !== "::"
      ? `[${address.address}]`
      : address.address.replace(/^::$/u, "127.0.0.1");
  return {
    url: `http://${shown.replace(/^0\.0\.0\.0$/u, "127.0.0.1")}:${address.port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => {
        server.close(done);
      });
    },
  };
}

/** Never rejects: a failed response must not end the program. */
async function respond(
  response: ServerResponse,
  route: (response: ServerResponse) => Promise<void> | void,
): Promise<void> {
  try {
    await route(response);
  } catch {
    if (!response.headersSent) response.writeHead(500);
    response.end();
  }
}

function sendHealth(response: ServerResponse, { watches, isLeader }: HealthServerOptions): void {
  const dead = [...watches()]
    .filter(([, { live }]) => !live)
    .map(([name, { lastError }]) => ({ watch: name, error: lastError }));
  sendJson(response, dead.length === 0 ? 200 : 500, {
    status: dead.length === 0 ? "ok" : "down",
    leader: isLeader(),
    dead,
  });
}

function sendReadiness(response: ServerResponse, { watches, isReady, isLeader }: HealthServerOptions): void {
  const all = [...watches()];
  const waiting = all.filter(([, { synced, rejected }]) => !synced && !rejected).map(([name]) => name);
  const unavailable = all
    .filter(([, { rejected }]) => rejected)
    .map(([name, { lastError }]) => ({ watch: name, error: lastError }));
  sendJson(response, isReady() ? 200 : 503, { ready: isReady(), leader: isLeader(), waiting, unavailable });
}

async function sendMetrics(response: ServerResponse, registry: Registry): Promise<void> {
  const text = await registry.metrics();
  response.writeHead(200, { "content-type": registry.contentType }).end(text);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
}
