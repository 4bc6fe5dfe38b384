import { setTimeout as sleep } from "node:timers/promises";
import { AuthorizationError, connect, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import type { NatsAccess } from "./nats-access.ts";
import { reasonOf } from "./connection-log.ts";
import { createCredentialChoice, type CredentialChoice } from "./credential-choice.ts";
import { authenticatorOf, readCredentials, type Credentials } from "./credentials.ts";
import { createNextServer } from "./next-server.ts";

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

/** @throws Error that names the servers when none responds in time or the credentials are refused */
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
export async function newestCredentials({ auth, token, user, password }: NatsAccess): Promise<Credentials> {
  if (auth !== undefined) return readCredentials(auth);
  if (token !== undefined) return { kind: "token", token };
  return user === undefined ? { kind: "none" } : { kind: "password", user, password: password ?? "" };
}

/** Connects once and closes, which shows whether the server accepts credentials. @throws Error with the cause */
export async function tryCredentials(access: NatsAccess, credentials: Credentials): Promise<void> {
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
    // A restarted server may refuse credentials until its accounts are loaded.
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
