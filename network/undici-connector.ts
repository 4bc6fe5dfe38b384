// The parts of undici that programs use. Its index also loads fetch, caches and mocks: 4 MiB in each process.
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type * as Undici from "undici";
import { DialTimeout } from "./dial.ts";
import { dialHost, type LookUp, type RejectAddress } from "./lookup-dial.ts";

const load = createRequire(import.meta.url);
const buildConnector = load("undici/lib/core/connect.js") as typeof Undici.buildConnector;
const errors = load("undici/lib/core/errors.js") as typeof Undici.errors;
/** A pool for each origin. */
export const Agent = load("undici/lib/dispatcher/agent.js") as typeof Undici.Agent;
/** The connections to one origin. */
export const Pool = load("undici/lib/dispatcher/pool.js") as typeof Undici.Pool;
/** Connections through an HTTP proxy. */
export const ProxyAgent = load("undici/lib/dispatcher/proxy-agent.js") as typeof Undici.ProxyAgent;
const Dispatcher = load("undici/lib/dispatcher/dispatcher.js") as typeof Undici.Dispatcher;
Object.assign(Dispatcher.prototype, load("undici/lib/api/index.js"));

type RequestOptions = Omit<Undici.Dispatcher.RequestOptions, "origin" | "path" | "method"> & {
  readonly dispatcher: Undici.Dispatcher;
  /** @default GET */
  readonly method?: Undici.Dispatcher.HttpMethod;
};

/** Sends a request through the connections of `dispatcher`. @throws TypeError for an invalid URL; errors of undici */
export function request(url: string | URL, { dispatcher, method = "GET", ...options }: RequestOptions) {
  const { origin, pathname, search } = new URL(url);
  return dispatcher.request({ ...options, method, origin, path: `${pathname}${search}` });
}

/** TLS options and limits of the connections of one undici dispatcher. */
export type ConnectorOptions = Pick<ConnectionOptions, "ca" | "cert" | "key" | "servername" | "rejectUnauthorized"> & {
  /** Time limit of look-up, TCP and TLS together. */
  readonly timeout: number;
  /** @default true */
  readonly allowH2?: boolean;
  /** Idle time after which TCP probes the connection. @default 60000 */
  readonly keepAliveInitialDelay?: number;
  /** @default the look-up of the operating system */
  readonly lookUp?: LookUp;
  /** True for an address that must never be connected. @default none */
  readonly rejects?: RejectAddress;
};

const ports: Readonly<Record<string, number>> = { "https:": 443, "http:": 80 };

/**
 * A connector for undici whose attempts overlap, so that one address without a response does not use up the time of the
 * others. Without it, Node gives each address 250 ms and then ends its attempt.
 */
export function overlappingConnector(options: ConnectorOptions): Undici.buildConnector.connector {
  const secure = buildConnector(options);
  return (target, callback) => void connect(options, secure, target, callback);
}

async function connect(
  options: ConnectorOptions,
  secure: Undici.buildConnector.connector,
  target: Undici.buildConnector.Options,
  callback: Undici.buildConnector.Callback,
): Promise<void> {
  const endsAtMs = performance.now() + options.timeout;
  const socket = await openTcp(options, target).catch((error: Error) => error);
  if (socket instanceof Error) callback(asTimeout(socket), null);
  else if (target.protocol === "https:") {
    const late = (): void => void socket.destroy(new errors.ConnectTimeoutError("no TLS in time"));
    const timer = setTimeout(late, Math.max(1, endsAtMs - performance.now()));
    secure({ ...target, httpSocket: socket }, (...settled) => {
      clearTimeout(timer);
      callback(...settled);
    });
  } else callback(null, socket);
}

function openTcp(
  { timeout: timeoutMs, keepAliveInitialDelay: keepAliveMs, lookUp, rejects }: ConnectorOptions,
  { hostname: host, protocol, port }: Undici.buildConnector.Options,
): Promise<Socket> {
  return dialHost({
    host,
    port: Number(port) || (ports[protocol] ?? 0),
    timeoutMs,
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
    ...(lookUp === undefined ? {} : { lookUp }),
    ...(rejects === undefined ? {} : { rejects }),
  });
}

/** undici's own error, which callers know. */
function asTimeout(error: Error): Error {
  return error instanceof DialTimeout ? new errors.ConnectTimeoutError(error.message) : error;
}
