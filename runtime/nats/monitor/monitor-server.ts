import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expositionType } from "./exposition.ts";
import { readMonitor } from "./monitor-client.ts";

/** What the port serves. */
interface MonitorServerOptions {
  /** Monitoring port of nats-server. */
  readonly monitor: string;
  /** The answer of `/livez`: false when the server should restart. @throws Error when it does not respond */
  readonly isAlive: () => Promise<boolean>;
  /** What `/healthz` reports besides the health of nats-server; undefined when nothing is wrong. */
  readonly fault: () => string | undefined;
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>;
  /** 0 picks a free one. */
  readonly port: number;
  /** @default every address */
  readonly host?: string;
}

/** A port that is open. */
interface MonitorServer {
  readonly port: number;
  stop(): Promise<void>;
}

const okStatus = 200;
const unavailableStatus = 503;
const requestTimeoutMs = 5_000;
const connectionsMax = 32;
/** The probes of the chart. The rest of the monitoring port stays closed to other pods. */
const healthPaths: readonly string[] = ["/healthz", "/healthz?js-enabled-only=true", "/healthz?js-server-only=true"];

/**
 * Opens the port: `/metrics` in Prometheus's text format, and for the kubelet `/livez` and nats-server's `/healthz`.
 * The monitoring port itself listens on the pod's loopback address, which the kubelet does not reach.
 * @throws Error of the operating system when the port cannot be opened
 */
export async function startMonitorServer(options: MonitorServerOptions): Promise<MonitorServer> {
  const server = createServer((request, response) => {
    const url = request.method === "GET" ? (request.url ?? "") : "";
    void answered(url, response, options);
  });
  server.requestTimeout = requestTimeoutMs;
  server.maxConnections = connectionsMax;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const { port, host } = options;
  server.once("error", reject).listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  await promise;
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => {
        server.close(done);
      });
    },
  };
}

/** Never rejects. An unreachable nats-server is not healthy. */
async function answered(
  url: string,
  response: ServerResponse,
  { monitor, metrics, isAlive, fault }: MonitorServerOptions,
): Promise<void> {
  try {
    if (url === "/metrics") response.writeHead(200, { "content-type": expositionType }).end(await metrics());
    else if (url === "/livez") response.writeHead((await isAlive()) ? okStatus : unavailableStatus).end();
    else if (healthPaths.includes(url)) {
      const { status, body } = await healthOf(monitor, url, fault());
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    } else response.writeHead(404).end();
  } catch (error) {
    if (!response.headersSent) response.writeHead(503, { "content-type": "text/plain" });
    response.end(`${error instanceof Error ? error.message : String(error)}\n`);
  }
}

/**
 * The health that nats-server reports, unless the monitor knows of a fault. The probes of the chart read parts of the
 * health, which say nothing about the fault: the server stays reachable for a copy.
 */
async function healthOf(monitor: string, url: string, fault: string | undefined) {
  const health = await readMonitor(monitor, url);
  if (url !== "/healthz" || fault === undefined) return health;
  return { status: unavailableStatus, body: JSON.stringify({ status: "unavailable", error: fault }) };
}
