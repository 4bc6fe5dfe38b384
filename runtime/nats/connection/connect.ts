// The connection to NATS: requests, clock, retries and limits. Streams are in `nats/streams/`.
import { setTimeout as sleep } from "node:timers/promises";
import { jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { AuthorizationError, connect, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import { createNextServer } from "./next-server.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import { runPeriodically } from "../../bounds/periodic.ts";
import { createLeaseClock, type LeaseClock } from "./lease-clock.ts";
import { createRequests, type Requests } from "./requests.ts";
import { createStreamClock, type StreamClock } from "./stream-clock.ts";

/** Servers and credentials of NATS. */
export interface NatsAccess {
  /** `nats://host:port`, at least one. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** PEM text of the authorities, or PEM files; present when the server requires TLS. */
  readonly tls?: {
    readonly ca?: string;
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
  /** Connects to the servers that the first one announces. @default true */
  readonly followsCluster?: boolean;
  /** Bound on the first connection, in milliseconds. @default 10000 */
  readonly firstConnectionTimeoutMs?: number;
}

/**
 * The one connection of the process to NATS: requests, publishes and JetStream's clock. It does not know any stream.
 */
export interface NatsConnectionHandle {
  /** For this folder only. */
  readonly connection: NatsConnection;
  /** For this folder only. */
  readonly manager: JetStreamManager;
  readonly requests: Requests;
  /** For this folder only. */
  readonly outbox: Outbox;
  readonly clock: StreamClock;
  /** Judges the leases of messages and lanes. */
  readonly leases: LeaseClock;
  isConnected(): boolean;
  /** Calls the listener after every reconnect. Returns a function that removes the listener. */
  onReconnect(listener: () => void): () => void;
  /** Sends pending messages and closes. Sending has a time limit. A second call does nothing. */
  drain(): Promise<void>;
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
const drainTimeoutMs = 5_000;
/** A third of the time for which leases are used without a sign of life. */
const probeMs = 500;
const managerTimeoutMs = 5_000;

/**
 * Connects and reconnects without end.
 * @param wallNow this machine's wall clock, Unix milliseconds. @default Date.now
 * @throws Error that names the servers when none responds in time or the credentials are refused
 */
export async function connectNats(access: NatsAccess, wallNow: () => number = Date.now): Promise<NatsConnectionHandle> {
  const connection = await firstConnection(access);
  // No check of the account here: the errors of `ensureTopology` are clearer than the client's.
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: managerTimeoutMs });
  const listeners = new Set<() => void>();
  const state = { connected: true };
  const isConnected = (): boolean => state.connected && !connection.isClosed();
  const outbox = createOutbox(connection, isConnected);
  const requests = createRequests(connection, outbox, isConnected);
  const leases = createLeaseClock(wallNow);
  void follow(connection, requests, leases, state, listeners);
  const stopProbes = runPeriodically(probeMs, () => probe(connection, leases));
  let drained: Promise<void> | undefined;
  return {
    connection,
    manager,
    requests,
    outbox,
    clock: createStreamClock(wallNow),
    leases,
    isConnected,
    onReconnect: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    drain: () => {
      outbox.flush();
      stopProbes();
      drained ??= drainBounded(connection);
      return drained;
    },
  };
}

async function firstConnection(access: NatsAccess): Promise<NatsConnection> {
  const deadlineMs = performance.now() + (access.firstConnectionTimeoutMs ?? firstConnectionTimeoutMsDefault);
  for (;;) {
    try {
      return await connect(connectionOptions(access));
    } catch (cause) {
      if (cause instanceof AuthorizationError || performance.now() >= deadlineMs) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`cannot connect to NATS at ${access.servers.map(withoutUser).join(", ")}: ${reason}`, {
          cause,
        });
      }
      await sleep(dialPauseMs);
    }
  }
}

/** Removes credentials from a URL, because messages must not contain them. */
function withoutUser(server: string): string {
  return server.replace(/^(?<scheme>\w+:\/\/)?.*@/u, "$<scheme>");
}

function connectionOptions(access: NatsAccess): NodeConnectionOptions {
  return {
    servers: [...access.servers],
    name: "heliograph",
    maxReconnectAttempts: -1,
    reconnectToServer: createNextServer({ pauseMs: reconnectWaitMs, jitterMs: reconnectJitterMs }),
    // The client compares wall clocks, and never pauses with this.
    reconnectDelayHandler: () => Number.NEGATIVE_INFINITY,
    timeout: dialTimeoutMs,
    pingInterval: pingIntervalMs,
    // A stack trace per request costs more than the request.
    noAsyncTraces: true,
    // A restarted server may refuse credentials until its accounts are loaded.
    ignoreAuthErrorAbort: true,
    ...(access.user === undefined ? {} : { user: access.user }),
    ...(access.password === undefined ? {} : { pass: access.password }),
    ...(access.token === undefined ? {} : { token: access.token }),
    ...(access.tls === undefined ? {} : { tls: access.tls }),
    ignoreClusterUpdates: access.followsCluster === false,
  };
}

async function follow(
  connection: NatsConnection,
  requests: Requests,
  leases: LeaseClock,
  state: { connected: boolean },
  listeners: ReadonlySet<() => void>,
): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === "disconnect") {
      state.connected = false;
      leases.disconnect();
      requests.failAll("disconnected");
    } else if (type === "reconnect") {
      state.connected = true;
      listeners.forEach((listener) => listener());
    }
  }
  state.connected = false;
  requests.failAll("closed");
}

/** Asks the server for a sign of life. Never rejects, and has no time limit: the next one does not wait for it. */
async function probe(connection: NatsConnection, leases: LeaseClock): Promise<void> {
  if (connection.isClosed() || connection.isDraining()) return;
  const sentAtMs = leases.nowMs();
  void connection.flush().then(
    () => leases.confirm(sentAtMs),
    () => undefined,
  );
}

async function drainBounded(connection: NatsConnection): Promise<void> {
  const drained = connection.isClosed() ? Promise.resolve() : connection.drain();
  // Draining waits for the server, which may never come back.
  await Promise.race([drained.catch(() => undefined), sleep(drainTimeoutMs, undefined, { ref: false })]);
  await connection.close();
}
