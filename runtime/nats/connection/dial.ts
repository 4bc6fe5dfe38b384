import { setTimeout as sleep } from "node:timers/promises";
import {
  AuthorizationError,
  connect,
  type NatsConnection,
  type NodeConnectionOptions,
  type ReconnectToServerHandler,
} from "@nats-io/transport-node";
import {
  authenticatorOf,
  createCredentialChoice,
  type CredentialChoice,
  type Credentials,
  readCredentials,
  userOf,
} from "./credentials.ts";
import type { NatsAccess } from "./nats-access.ts";

/** A first connection with the credentials that made it. */
interface FirstConnection {
  readonly connection: NatsConnection;
  readonly choice: CredentialChoice;
}

const firstConnectionTimeoutMsDefault = 10_000;
const dialTimeoutMs = 5_000;
const dialPauseMs = 250;
const reconnectWaitMs = 200;
const reconnectJitterMs = 100;
/**
 * A server that lost its machine or its network closes no connection. The client leaves it after two pings without a
 * reply and one more interval, while the other servers elect leaders.
 */
const pingIntervalMs = 1_500;

/** Pause between two connection attempts to the same server, in milliseconds. */
interface Pauses {
  readonly pauseMs: number;
  /** Bound on the random addition to it. */
  readonly jitterMs: number;
}

/** Log of connections to NATS. A `pino` logger, or nothing. */
export interface ConnectionLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

/** Log of commands, which report a failed connection themselves. */
export const noConnectionLog: ConnectionLog = { info: () => undefined, warn: () => undefined };

/** @throws Error that names the servers when none responds in time or the credentials are rejected */
export async function firstConnection(access: NatsAccess): Promise<FirstConnection> {
  const deadlineMs = performance.now() + (access.firstConnectionTimeoutMs ?? firstConnectionTimeoutMsDefault);
  for (;;) {
    const choice = createCredentialChoice(await newestCredentials(access).catch((cause) => fail(access, cause)));
    try {
      const connection = await connect(lastingOptions(access, choice));
      return { connection, choice };
    } catch (cause) {
      if (cause instanceof AuthorizationError || performance.now() >= deadlineMs) fail(access, cause);
      await sleep(dialPauseMs);
    }
  }
}

function fail(access: NatsAccess, cause: unknown): never {
  throw new Error(`cannot connect to NATS at ${serversOf(access)}: ${reasonOf(cause)}`, { cause });
}

/** The credentials as the files have them now. @throws InvalidCredentials, and errors of the file system */
async function newestCredentials({ auth, token, user, password }: NatsAccess): Promise<Credentials> {
  if (auth !== undefined) return readCredentials(auth);
  if (token !== undefined) return { kind: "token", token };
  return user === undefined ? { kind: "none" } : { kind: "password", user, password: password ?? "" };
}

/** Connects once and closes, which shows whether the server accepts credentials. @throws Error with the cause */
async function tryCredentials(access: NatsAccess, credentials: Credentials): Promise<void> {
  const options = { ...commonOptions(access), authenticator: authenticatorOf(credentials), reconnect: false };
  const connection = await connect({ ...options, name: "heliograph-check" });
  await connection.close();
}

/** The servers of an access without credentials, for messages. */
export function serversOf({ servers }: Pick<NatsAccess, "servers">): string {
  return servers.map((server) => server.replace(/^(?<scheme>\w+:\/\/)?.*@/u, "$<scheme>")).join(", ");
}

function lastingOptions(access: NatsAccess, choice: CredentialChoice): NodeConnectionOptions {
  return {
    ...commonOptions(access),
    name: "heliograph",
    authenticator: choice.authenticator,
    maxReconnectAttempts: -1,
    reconnectToServer: createNextServer({ pauseMs: reconnectWaitMs, jitterMs: reconnectJitterMs }),
    // The client compares wall clocks, and never pauses with this.
    reconnectDelayHandler: () => Number.NEGATIVE_INFINITY,
    pingInterval: pingIntervalMs,
    // A restarted server may reject credentials until its accounts are loaded.
    ignoreAuthErrorAbort: true,
  };
}

function commonOptions(access: NatsAccess): NodeConnectionOptions {
  return {
    servers: [...access.servers],
    timeout: dialTimeoutMs,
    // A stack trace per request costs more than the request.
    noAsyncTraces: true,
    ...(access.tls === undefined ? {} : { tls: access.tls }),
    ignoreClusterUpdates: access.followsCluster === false,
  };
}

/**
 * Chooses the server of each connection attempt: the one whose last attempt is the longest ago, so a lost server is
 * tried last. Attempts are timed by the monotonic clock, because the client's own choice waits until the wall clock
 * passes the time of the last attempt, which takes an hour when the clock was set back by an hour.
 *
 * @param nowMs a monotonic clock, milliseconds. @default performance.now
 * @param random [0, 1). @default Math.random
 */
export function createNextServer(
  { pauseMs, jitterMs }: Pauses,
  nowMs: () => number = () => performance.now(),
  random: () => number = Math.random,
): ReconnectToServerHandler {
  let triedMs: ReadonlyMap<string, number> = new Map();
  return (pool) => {
    const lastOf = (address: string): number => triedMs.get(address) ?? Number.NEGATIVE_INFINITY;
    const ordered = pool.toSorted((one, other) => {
      const [a, b] = [lastOf(addressOf(one)), lastOf(addressOf(other))];
      return a === b ? 0 : a - b;
    });
    const [server] = ordered;
    if (server === undefined) return null;
    const address = addressOf(server);
    const delay = Math.max(0, lastOf(address) + pauseMs + random() * jitterMs - nowMs());
    // Servers that the cluster no longer announces are forgotten.
    const known = new Set(pool.map(addressOf));
    triedMs = new Map([...triedMs].filter(([one]) => known.has(one))).set(address, nowMs() + delay);
    return { server, delay };
  };
}

function addressOf({ hostname, port }: { readonly hostname: string; readonly port: number }): string {
  return `${hostname}:${port}`;
}

/** The message of an error, for a field `reason`. */
function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A connection whose credentials are followed. */
interface Followed {
  readonly access: NatsAccess;
  readonly choice: CredentialChoice;
  readonly log: ConnectionLog;
  /** False while the client makes a connection again. */
  readonly isConnected: () => boolean;
  readonly isEnding: () => boolean;
  /** Connects again without the loss of a message, by the choice's newest credentials. */
  readonly reconnect: () => Promise<void>;
}

/**
 * Looks once at the files and at the connection. New credentials that the server accepts are put in use; until it does,
 * the earlier ones stay. Without a connection, the look finds the cause, which the client does not report. Every look
 * logs its cause, and the log states each cause once per interval. Never rejects.
 */
export async function followCredentials(followed: Followed): Promise<void> {
  const { access, choice, log } = followed;
  if (followed.isEnding()) return;
  try {
    if (access.auth !== undefined) choice.offer(await newestCredentials(access));
  } catch (error) {
    log.warn({ reason: reasonOf(error) }, "NATS credentials not readable, previous credentials kept");
  }
  if (!followed.isConnected()) await reportCause(followed);
  else if (choice.isPending()) await rotate(followed);
}

async function reportCause({ access, choice, log, isConnected }: Followed): Promise<void> {
  const user = userOf(choice.current());
  try {
    await tryCredentials(access, choice.current());
  } catch (error) {
    if (isConnected()) return;
    log.warn({ servers: serversOf(access), user, reason: reasonOf(error) }, "NATS unreachable, reconnecting");
  }
}

async function rotate({ access, choice, log, reconnect }: Followed): Promise<void> {
  const newest = choice.newest();
  const fields = { servers: serversOf(access), user: userOf(newest) };
  try {
    await tryCredentials(access, newest);
  } catch (error) {
    log.warn({ ...fields, reason: reasonOf(error) }, "NATS rejected the new credentials, previous credentials kept");
    return;
  }
  await reconnect();
  if (choice.isPending()) log.warn(fields, "NATS accepted the new credentials only once, previous credentials in use");
  else log.info(fields, "NATS credentials changed");
}
