// Messages in both directions: publish, pull, stored messages and request-reply. No stream has a meaning here.
import { createInbox, nanos, type Msg, type Subscription } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { pulledMessage, type PulledMessage } from "./pulled-message.ts";

/** Consumer, credit and callbacks of a pull. */
export interface PullOptions {
  readonly stream: string;
  readonly consumer: string;
  /** Largest number of requested messages. Called before each request. */
  readonly credit: () => number;
  readonly onMessage: (message: PulledMessage) => void;
  /** Called before the first message and after every reconnect, because the server may have lost state. */
  readonly onOpen: () => void;
  /** Creates the consumer again; called when it may be gone. */
  readonly repair: () => Promise<void>;
}

/** A running pull. */
export interface Pull {
  /** Requests more messages at once; called when the credit grows. */
  topUp(): void;
  /** To be called about twice a second. Sends a missing request and restarts the pull when the server is silent. */
  watch(): void;
  /** Creates the consumer again and sends a new request; called when the consumer is gone. */
  startOver(): void;
  /** Requests nothing more and returns messages in flight to JetStream at once. Never rejects. */
  stop(): Promise<void>;
}

/** Lifetime of one request for messages. The end of an unserved request wakes an idle process. */
const requestExpiresMs = 300_000;
/**
 * Interval at which the server confirms a standing request. A single server drops its requests with the connection,
 * which is visible at once. In a cluster, another server may have been the leader of the consumer.
 */
const heartbeatMs = { alone: 30_000, inCluster: 5_000 } as const;
/** Greatest delay of a heartbeat. */
const lateMsMax = 6_000;
/** Pause before the next request after an error. It keeps the load off a starting server. */
const errorPauseMs = 250;
/**
 * Pauses before new requests to a new leader of the consumer, which lost those of the previous one. It is announced
 * before it accepts requests, so a second request follows unless something was received.
 */
const newLeaderPausesMs = [250, 2_000] as const;

const status = { heartbeat: 100, noRespondersOrShutdown: 503, conflict: 409, badRequest: 400 } as const;

/**
 * Pulls without end. Unlike the client's `consume`, it requests only as many messages as there is credit. It recovers
 * by itself within a quarter of a second after any error, and returns messages that arrive after the stop.
 */
export function startPull(handle: NatsConnectionHandle, options: PullOptions): Pull {
  const pull = new RunningPull(handle, options);
  pull.open();
  return pull;
}

class RunningPull implements Pull {
  readonly #handle: NatsConnectionHandle;
  readonly #options: PullOptions;
  readonly #nextSubject: string;
  readonly #removeListeners: readonly (() => void)[];
  #subscription: Subscription | undefined;
  #inbox = "";
  /** Messages requested and not yet received. */
  #requested = 0;
  #receivedAtMs = 0;
  #pause: NodeJS.Timeout | undefined;
  #newLeader: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(handle: NatsConnectionHandle, options: PullOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#nextSubject = `$JS.API.CONSUMER.MSG.NEXT.${options.stream}.${options.consumer}`;
    const { stream, consumer } = options;
    this.#removeListeners = [
      handle.onReconnect(() => this.open()),
      handle.consumerLeaders.on(stream, consumer, () => this.#openAfter(newLeaderPausesMs)),
    ];
  }

  /** Restarts with a new inbox: the server drops requests whose inbox has no subscriber. */
  open(): void {
    const { connection } = this.#handle;
    // A draining connection accepts no subscriptions.
    if (this.#stopped || connection.isClosed() || connection.isDraining()) return;
    this.#subscription?.unsubscribe();
    this.#inbox = createInbox();
    this.#requested = 0;
    this.#receivedAtMs = performance.now();
    this.#options.onOpen();
    const inbox = this.#inbox;
    this.#subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error === null) this.#receive(message, message.subject === inbox);
      },
    });
    this.topUp();
  }

  topUp(): void {
    const wanted = this.#options.credit();
    // Requesting at half of the credit keeps requests few and the pull supplied.
    if (this.#stopped || this.#requested > wanted / 2 || wanted <= this.#requested || !this.#handle.isConnected())
      return;
    const request = {
      batch: wanted - this.#requested,
      expires: nanos(requestExpiresMs),
      idle_heartbeat: nanos(this.#heartbeatMs()),
    };
    this.#requested = wanted;
    this.#handle.outbox.publish(this.#nextSubject, JSON.stringify(request), { reply: this.#inbox });
  }

  watch(): void {
    if (this.#requested === 0) this.topUp();
    else if (performance.now() - this.#receivedAtMs > this.#heartbeatMs() + lateMsMax && this.#handle.isConnected())
      this.startOver();
  }

  #heartbeatMs(): number {
    return this.#handle.connection.info?.cluster === undefined ? heartbeatMs.alone : heartbeatMs.inCluster;
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#removeListeners.forEach((remove) => remove());
    clearTimeout(this.#pause);
    clearTimeout(this.#newLeader);
    if (this.#handle.isConnected()) await this.#subscription?.drain().catch(() => undefined);
    this.#subscription?.unsubscribe();
  }

  /** Starts again after the first pause, and after each next one, until something is received. */
  #openAfter([pauseMs, ...next]: readonly number[]): void {
    clearTimeout(this.#newLeader);
    if (pauseMs === undefined) return;
    const sinceMs = performance.now();
    this.#newLeader = setTimeout(() => {
      if (this.#receivedAtMs > sinceMs) return;
      this.open();
      this.#openAfter(next);
    }, pauseMs).unref();
  }

  #receive(message: Msg, isStatus: boolean): void {
    this.#receivedAtMs = performance.now();
    if (isStatus) {
      this.#receiveStatus(message);
      return;
    }
    this.#requested = Math.max(0, this.#requested - 1);
    const pulled = pulledMessage(this.#handle, message);
    if (this.#stopped) {
      pulled.release();
      return;
    }
    this.#options.onMessage(pulled);
    this.topUp();
  }

  /** Handles heartbeats, ends of requests, and errors. Source: NATS ADR-13. */
  #receiveStatus(message: Msg): void {
    const code = message.headers?.code;
    if (code === status.heartbeat) return;
    if (code === status.conflict || code === status.noRespondersOrShutdown || code === status.badRequest) {
      this.startOver();
      return;
    }
    // A request ended; the header holds the number of its messages that were not delivered.
    this.#requested = Math.max(
      0,
      this.#requested - Number(message.headers?.get("Nats-Pending-Messages") || this.#requested),
    );
    this.topUp();
  }

  startOver(): void {
    if (this.#pause !== undefined || this.#stopped) return;
    this.#pause = setTimeout(() => {
      this.#options
        .repair()
        // A lasting fault shows again in the next request.
        .catch(() => undefined)
        .finally(() => {
          this.#pause = undefined;
          this.open();
        });
    }, errorPauseMs);
    this.#pause.unref();
  }
}
