// The program next to each nats-server of the chart. It makes the server load renewed certificates and changed users,
// exports its metrics and answers its probes. It does not connect to NATS and reads no message.

import { statfs } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "pino";
import { createSingleFlight } from "../../../limits/bounded-map.ts";
import { runPeriodically } from "../../../limits/clock.ts";
import { createStoreFiles, missingText } from "../store/store-files.ts";
import { createCertificateReload } from "./certificate-reload.ts";
import { createLiveness, readDocument, readJetStreamOn, readMonitor } from "./liveness.ts";
import { expositionType, serverMetrics, type ServerReading } from "./server-metrics.ts";
import { createServerUsers } from "./server-users.ts";

/** Places of the pod of one nats-server. */
interface MonitorOptions {
  /** Monitoring port of nats-server, such as `http://127.0.0.1:8222`. */
  readonly monitor: string;
  /** Folder of the mounted certificate. */
  readonly tlsFolder: string;
  readonly pidFile: string;
  /** Folder of the mounted passwords, and the file that the server includes. @default the server has no users */
  readonly users?: { readonly authFolder: string; readonly usersFile: string };
  /** Folder on the volume of JetStream. */
  readonly dataFolder: string;
  /** Port of metrics and probes; 0 picks a free one. */
  readonly port: number;
  readonly host?: string;
  /** Time for which a server may catch up with the others after the kubelet's limit, in milliseconds. @default 0 */
  readonly catchUpMs?: number;
  /** Period at which the files are compared, in milliseconds. @default 5000 */
  readonly checkMs?: number;
}

/** A running monitor. */
interface Monitor {
  readonly port: number;
  stop(): Promise<void>;
}

const checkMsDefault = 5_000;
const jszPath = "/jsz?streams=true&config=true";

/** What the port serves. */
interface MonitorServerOptions {
  /** Monitoring port of nats-server. */
  readonly monitor: string;
  /** The response of `/livez`: false when the server should restart. @throws Error when it does not respond */
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

/** Starts the monitor. @throws Error when its port cannot be opened, or the users cannot be written */
export async function startMonitor(options: MonitorOptions, log: Logger): Promise<Monitor> {
  const users = options.users === undefined ? undefined : createServerUsers(options.users, log);
  // The server starts when the port is open.
  await users?.write();
  const usersFile = options.users?.usersFile;
  const reload = createCertificateReload({ ...options, ...(usersFile === undefined ? {} : { usersFile }) }, log);
  const readPath = (path: string) => readMonitor(options.monitor, path);
  const files = createStoreFiles({
    read: () => readDocument(options.monitor, jszPath),
    dataFolder: options.dataFolder,
    onChange: (streams) =>
      streams.length === 0 ? log.info("files of all streams restored") : log.error({ streams }, missingText(streams)),
  });
  const missing = (): readonly string[] => files.missing() ?? [];
  const liveness = createLiveness({
    read: readPath,
    volume: () => orAbsent(volumeOf(options.dataFolder)),
    hasFiles: () => missing().length === 0,
    catchUpMs: options.catchUpMs ?? 0,
    nowMs: () => performance.now(),
  });
  const read = async (): Promise<string> => {
    const [varz, jsz, isOn, volume] = await Promise.all([
      orAbsent(readDocument(options.monitor, "/varz")),
      orAbsent(readDocument(options.monitor, jszPath)),
      orAbsent(readJetStreamOn(readPath)),
      orAbsent(volumeOf(options.dataFolder)),
    ]);
    const isReloadPending = reload.isPending() || users?.isFaulty() === true;
    const own = { isReloadPending, reloadSignals: reload.signals() };
    // A reload that turns JetStream off leaves the health as it is: nats-server then expects none.
    const isJetStreamOn = isOn === true && Object(jsz)["disabled"] !== true;
    const streamsWithoutFiles = jsz === undefined ? undefined : files.missing()?.length;
    const known = {
      ...(volume && { volume }),
      ...(isOn !== undefined && { isJetStreamOn }),
      ...(streamsWithoutFiles !== undefined && { streamsWithoutFiles }),
    };
    return serverMetrics({ ...own, ...known, varz, jsz });
  };
  // Concurrent scrapes share one read.
  const flight = createSingleFlight<string>();
  const server = await startMonitorServer({
    ...options,
    isAlive: () => liveness.look(),
    fault: () => (missing().length === 0 ? undefined : missingText(missing())),
    metrics: () => flight("metrics", read),
  });
  const stopChecks = runPeriodically(options.checkMs ?? checkMsDefault, async () => {
    await users?.check();
    await reload.check();
    await files.check();
  });
  return {
    port: server.port,
    stop: async () => {
      stopChecks();
      await server.stop();
    },
  };
}

async function volumeOf(folder: string): Promise<NonNullable<ServerReading["volume"]>> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { sizeBytes: bsize * blocks, availableBytes: bsize * bavail };
}

async function orAbsent<T>(value: Promise<T>): Promise<T | undefined> {
  return value.catch(() => undefined);
}

/**
 * Opens the port: `/metrics` in Prometheus's text format, and for the kubelet `/livez` and nats-server's `/healthz`.
 * The monitoring port itself listens on the pod's loopback address, which the kubelet does not reach.
 * @throws Error of the operating system when the port cannot be opened
 */
async function startMonitorServer(options: MonitorServerOptions): Promise<MonitorServer> {
  const server = createServer((request, response) => {
    const url = request.method === "GET" ? (request.url ?? "") : "";
    void respond(url, response, options);
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
async function respond(
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
