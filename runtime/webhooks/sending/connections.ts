import type { Socket } from "node:net";
import { HttpConnection, type ResponseHandler, type RequestMessage } from "./http-connection.ts";

/** One attempt, as its connections see it. */
export interface ConnectionUser extends ResponseHandler {
  /** True when the attempt is over. */
  readonly isSettled: boolean;
  /** Asked when a new connection is open. False: the request is not sent on it. */
  maySend(): boolean;
  /** Opens a new connection. */
  connect(): Promise<Socket>;
  /**
   * The request is sent on this connection next.
   *
   * @param resend sends it on a new connection; undefined when this one is new
   */
  onConnection(connection: HttpConnection, resend: (() => void) | undefined): void;
  /** Ends the attempt without a response: its connections are closed, or it may not be sent any more. */
  abandon(): void;
}

interface Times {
  /** Time for which a connection is kept when its server names none. */
  readonly idleMs: number;
  readonly idleMsMax: number;
  /** Age at which a connection is replaced. */
  readonly ageMsMax: number;
}

interface IdleConnection {
  readonly connection: HttpConnection;
  readonly timer: NodeJS.Timeout;
}

/** A connection is closed this long before its server would close it. */
const idleMarginMs = 1_000;

/**
 * Connections that stay open between requests. Their number has no limit: the callers limit their requests, so that no
 * request waits for another.
 */
export class Connections {
  readonly #times: Times;
  readonly #idle = new Map<string, IdleConnection[]>();
  readonly #users = new Set<ConnectionUser>();
  #isClosed = false;

  constructor(times: Times) {
    this.#times = times;
  }

  /** Sends a request on the kept connection that was used last, or on a new one. */
  send(message: RequestMessage, user: ConnectionUser): void {
    this.#users.add(user);
    const kept = this.#take(message.origin);
    if (kept === undefined) void this.#sendOnNew(message, user);
    else sendOn(kept, message, user, () => void this.#sendOnNew(message, user));
  }

  /** The attempt is over. */
  release(user: ConnectionUser): void {
    this.#users.delete(user);
  }

  /** Closes each connection when its request has ended. */
  close(): void {
    this.#isClosed = true;
    for (const { connection } of [...this.#idle.values()].flat()) connection.destroy();
  }

  /** Closes each connection at once, and abandons the attempts. */
  destroy(): void {
    this.close();
    for (const user of this.#users) user.abandon();
  }

  async #sendOnNew(message: RequestMessage, user: ConnectionUser): Promise<void> {
    try {
      const socket = await user.connect();
      const { origin } = message;
      const connection = new HttpConnection(socket, {
        onIdle: (serverMs) => this.#keep(origin, connection, serverMs),
        onClosed: () => this.#drop(origin, connection),
      });
      if (!user.isSettled && user.maySend()) sendOn(connection, message, user, undefined);
      else {
        user.abandon();
        this.#keep(origin, connection, 0);
      }
    } catch (error) {
      user.onFailure(error as Error, false);
    }
  }

  /** @param serverMs 0 if the server names no time */
  #keep(origin: string, connection: HttpConnection, serverMs: number): void {
    const { idleMs, idleMsMax, ageMsMax } = this.#times;
    const keptMs = serverMs === 0 ? idleMs : Math.min(serverMs - idleMarginMs, idleMsMax);
    if (this.#isClosed || keptMs <= 0 || performance.now() - connection.openedAtMs > ageMsMax) {
      connection.destroy();
      return;
    }
    const timer = setTimeout(() => connection.destroy(), keptMs).unref();
    const list = this.#idle.get(origin) ?? [];
    list.push({ connection, timer });
    this.#idle.set(origin, list);
  }

  #take(origin: string): HttpConnection | undefined {
    const list = this.#idle.get(origin) ?? [];
    for (let last = list.pop(); last !== undefined; last = list.pop()) {
      clearTimeout(last.timer);
      if (last.connection.isUsable) return last.connection;
    }
    this.#idle.delete(origin);
    return undefined;
  }

  #drop(origin: string, connection: HttpConnection): void {
    const list = this.#idle.get(origin) ?? [];
    const index = list.findIndex((one) => one.connection === connection);
    if (index === -1) return;
    for (const { timer } of list.splice(index, 1)) clearTimeout(timer);
    if (list.length === 0) this.#idle.delete(origin);
  }
}

function sendOn(
  connection: HttpConnection,
  message: RequestMessage,
  user: ConnectionUser,
  resend: (() => void) | undefined,
): void {
  user.onConnection(connection, resend);
  connection.send(message, user);
}
