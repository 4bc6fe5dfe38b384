// The connection to NATS: requests, clock, retries and limits. Streams are in `nats/streams/`.
import { setTimeout as sleep } from "node:timers/promises";
import { runPeriodically } from "../../../limits/clock.ts";
import { jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import {
  AuthorizationError,
  type Msg,
  UserAuthenticationExpiredError,
  type NatsConnection,
} from "@nats-io/transport-node";
import { createChangeGate, type ChangeGate } from "./change-gate.ts";
import { followConsumerLeaders, followStreamLeaders, type ConsumerLeaders } from "./consumer-leaders.ts";
import { type ConnectionLog, firstConnection, noConnectionLog, serversOf, followCredentials } from "./dial.ts";
import { type CredentialChoice, userOf } from "./credentials.ts";
import type { NatsAccess } from "./nats-access.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import { createLeaseClock, type LeaseClock } from "./lease-clock.ts";
import { createRequests, type Requests } from "./requests.ts";
import { isToApi, requestAgain, untilReceived } from "./retry-until-reply.ts";
import { createStreamClock, type StreamClock } from "./stream-clock.ts";

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
  /** For this folder only. */
  readonly consumerLeaders: ConsumerLeaders;
  isConnected(): boolean;
  /** True while files have credentials that are not in use. */
  hasPendingCredentials(): boolean;
  /**
   * Runs a step that sends one message and gets several, which a change of credentials must not interrupt. Requests
   * need no such step.
   */
  uninterrupted<T>(step: () => Promise<T>): Promise<T>;
  /** Calls the listener after every reconnect. Returns a function that removes the listener. */
  onReconnect(listener: () => void): () => void;
  /** Sends pending messages and closes. Sending has a time limit. A second call does nothing. */
  drain(): Promise<void>;
}

const drainTimeoutMs = 5_000;
/** A third of the time for which leases are used without a sign of life. */
const probeMs = 500;
const managerTimeoutMs = 5_000;
/** Period at which credentials are read again, and at which the cause of a lost connection is looked up. */
const followMs = 1_000;
/** Time in which requests may get their responses before a change of credentials. */
const settleMsMax = 1_000;
const settlePauseMs = 5;
/** A leader is announced before it accepts requests. */
const newLeaderPauseMs = 250;
/** Time in which messages wait for a connection with new credentials. */
const switchMsMax = 1_500;

/** State of a connection. */
interface Link {
  /** False while the client has no connection. */
  connected: boolean;
  /** Number of connections after the first. */
  reconnects: number;
  /** Number of the last request before a change of credentials, during the change. Later ones wait. */
  switchingFrom: number | undefined;
}

/**
 * Connects and reconnects without end.
 * @param wallNow this machine's wall clock, Unix milliseconds. @default Date.now
 * @param log gets the causes of lost connections and rejected credentials. @default none
 * @throws Error that names the servers when none responds in time or the credentials are rejected
 */
export async function connectNats(
  access: NatsAccess,
  wallNow: () => number = Date.now,
  log: ConnectionLog = noConnectionLog,
): Promise<NatsConnectionHandle> {
  const { connection, choice } = await firstConnection(access);
  const gate = createChangeGate();
  // No check of the account here: the errors of `ensureTopology` are clearer than the client's.
  const manager = await jetstreamManager(withGate(connection, gate), { checkAPI: false, timeout: managerTimeoutMs });
  const listeners = new Set<() => void>();
  const link: Link = { connected: true, reconnects: 0, switchingFrom: undefined };
  // During a change of credentials, messages wait as if the connection were slow.
  const isConnected = (): boolean => (link.connected || link.switchingFrom !== undefined) && !connection.isClosed();
  const outbox = createOutbox(connection, isConnected);
  const requests = throughReloads(createRequests(connection, outbox, isConnected));
  const leases = createLeaseClock(wallNow);
  followStreamLeaders(connection, (stream) => endLostReads(requests, stream));
  void follow({ connection, requests, leases, link, listeners, choice, access, log });
  const stopProbes = runPeriodically(probeMs, () => probe(connection, leases));
  const isEnding = (): boolean => connection.isClosed() || connection.isDraining();
  const reconnect = (): Promise<void> => switchCredentials({ connection, requests, outbox, gate, link, choice });
  const followed = { access, choice, log, isConnected: () => link.connected, isEnding, reconnect };
  const stopFollowing = runPeriodically(followMs, () => followCredentials(followed));
  let drained: Promise<void> | undefined;
  return {
    connection,
    manager,
    requests,
    outbox,
    clock: createStreamClock(wallNow),
    leases,
    consumerLeaders: followConsumerLeaders(connection),
    isConnected,
    uninterrupted: (step) => gate.run(step),
    hasPendingCredentials: () => choice.isPending(),
    onReconnect: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    drain: () => {
      outbox.flush();
      stopProbes();
      stopFollowing();
      drained ??= drainBounded(connection);
      return drained;
    },
  };
}

/** Ends reads from the leader of a stream that no server responded to before the election. Who reads repeats them. */
function endLostReads(requests: Requests, stream: string): void {
  const end = (): void => requests.failUpTo(requests.last(), "timeout", `$JS.API.STREAM.MSG.GET.${stream}`);
  setTimeout(end, newLeaderPauseMs).unref();
}

interface Switched {
  readonly connection: NatsConnection;
  readonly requests: Requests;
  readonly outbox: Outbox;
  readonly gate: ChangeGate;
  readonly link: Link;
  readonly choice: CredentialChoice;
}

/**
 * Connects again with the newest credentials. The server has read everything before the connection ends, and messages
 * wait meanwhile, so that no request is lost.
 */
async function switchCredentials({ connection, requests, outbox, gate, link, choice }: Switched): Promise<void> {
  // The steps may still send requests.
  await gate.close(settleMsMax);
  outbox.hold();
  const last = requests.last();
  link.switchingFrom = last;
  try {
    await until(() => !requests.hasPendingUpTo(last), settleMsMax);
    await Promise.race([connection.flush().catch(() => undefined), sleep(settleMsMax, undefined, { ref: false })]);
    const { reconnects } = link;
    choice.preferNewest();
    await connection.reconnect();
    await until(() => link.reconnects > reconnects, switchMsMax);
  } finally {
    link.switchingFrom = undefined;
    if (!link.connected) requests.failAll("disconnected");
    outbox.release();
    gate.open();
  }
}

/** Requests that reach JetStream although the server reloads its configuration, as for a change of its users. */
function throughReloads(requests: Requests): Requests {
  const request: Requests["request"] = (subject, ...rest) => {
    const once = (): Promise<Uint8Array> => requests.request(subject, ...rest);
    return isToApi(subject) ? untilReceived(once) : once();
  };
  return { ...requests, request };
}

/** The connection as JetStream's manager uses it: its requests wait for a change of credentials. */
function withGate(connection: NatsConnection, gate: ChangeGate): NatsConnection {
  const request: NatsConnection["request"] = (subject, payload, options) => {
    const send = (timeout: number): Promise<Msg> => connection.request(subject, payload, { ...options, timeout });
    return gate.run(() => untilReceived(() => requestAgain(subject, send, options?.timeout ?? managerTimeoutMs)));
  };
  return Object.create(connection, { request: { value: request } }) as NatsConnection;
}

async function until(isDone: () => boolean, timeoutMs: number): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!isDone() && performance.now() < deadlineMs) await sleep(settlePauseMs, undefined, { ref: false });
}

interface FollowedConnection {
  readonly connection: NatsConnection;
  readonly requests: Requests;
  readonly leases: LeaseClock;
  readonly link: Link;
  readonly listeners: ReadonlySet<() => void>;
  readonly choice: CredentialChoice;
  readonly access: NatsAccess;
  readonly log: ConnectionLog;
}

async function follow(followed: FollowedConnection): Promise<void> {
  const { connection, requests, leases, link, listeners, choice } = followed;
  for await (const status of connection.status()) {
    if (status.type === "disconnect") {
      link.connected = false;
      leases.disconnect();
      requests.failUpTo(link.switchingFrom ?? requests.last(), "disconnected");
    } else if (status.type === "reconnect") {
      choice.accepted();
      link.connected = true;
      link.reconnects += 1;
      if (link.switchingFrom === undefined)
        followed.log.info({ servers: serversOf(followed.access) }, "NATS reconnected");
      listeners.forEach((listener) => listener());
    } else if (status.type === "error") noteRejection(followed, status.error);
  }
  link.connected = false;
  requests.failAll("closed");
}

/** The server ends a connection whose credentials it no longer accepts, and rejects new ones. */
function noteRejection({ choice, access, log }: FollowedConnection, error: Error): void {
  if (!(error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError)) return;
  const fields = { servers: serversOf(access), user: userOf(choice.current()), reason: error.message };
  log.warn(fields, "NATS rejected the credentials of the connection");
  choice.rejected();
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
