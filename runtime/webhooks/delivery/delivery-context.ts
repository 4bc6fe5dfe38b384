import type { Clock } from "../../../limits/clock.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import type { Effect } from "../settlement/circuit-breaker.ts";
import type { EndpointValidations } from "../authorization/endpoint-validation.ts";
import type { Tokens } from "../authorization/access-tokens.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import type { Log } from "../log.ts";
import type { DeliveryMetrics, PartnerMetrics } from "../telemetry/delivery-metrics.ts";
import type { DeliverySpans } from "../telemetry/delivery-spans.ts";
import type { DisabledPartners, PartnerHolds } from "../partners/partner-holds.ts";
import type { NamedPartner, Partner } from "../partners/partner.ts";
import type { Sender } from "../sending/send.ts";
import type { Settlement } from "../settlement/settle.ts";
import type { RedeliveryCheck } from "./in-flight.ts";

/** A delivery and the settlement of one attempt. */
export interface SettledDelivery {
  readonly delivery: DeliveryRecord;
  readonly partner: NamedPartner;
  readonly settlement: Settlement;
}

/** Everything a delivery needs besides itself and its partner. */
export interface DeliveryContext {
  readonly events: EventsStream;
  readonly deliveries: DeliveriesStream;
  readonly attempts: AttemptsStream;
  readonly deadLetters: DeadLettersStream;
  readonly disabled: DisabledPartners;
  readonly holds: PartnerHolds;
  readonly sender: Sender;
  readonly tokens: Tokens;
  readonly validations: EndpointValidations;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  /** Clock of the waits of attempts, retries and consumer changes. */
  readonly clock: Clock;
  /** [0, 1) */
  readonly random: () => number;
  readonly podId: string;
  /** `X-Webhook-Producer` of events without a producer. */
  readonly installation: string;
  /** Version of this program. */
  readonly version: string;
  readonly log: Log;
  readonly metrics: DeliveryMetrics;
  readonly spans: DeliverySpans;
  readonly partnerMetrics: PartnerMetrics;
  /** Called with every settlement before it is applied, at least once each. Never rejects. */
  readonly onSettled: (settled: SettledDelivery) => Promise<void>;
  /** Called when the circuit breaker of a partner opens. Never rejects. */
  readonly onBreakerOpen: (partner: Partner, restMs: number) => Promise<void>;
  /** Aborted when the process must end. Nothing new is tried then; other pods take over messages in flight. */
  readonly ending: AbortSignal;
}

/** One message that a worker processes. */
export interface Work {
  readonly delivery: DeliveryRecord;
  /** Check of the pull that received the message. */
  readonly redeliveryCheck: RedeliveryCheck;
  /** The latest delivery of the message. After its acknowledgement wait, JetStream redelivers it to the same work. */
  message: PulledMessage;
  /** Milliseconds of the monotonic clock. */
  readonly sinceMs: number;
  /** True when this pod made the attempt straight from the event meanwhile. @default false */
  hasAttempt?: boolean;
}

/** The event of a delivery that is not stored. */
export interface HeldEvent {
  readonly body: Uint8Array;
  /** As in {@link PulledMessage}, of the event's message. */
  readonly isHeld: () => boolean;
}

/** Control of the pulls of a partner's messages. */
export interface LaneControl {
  /**
   * The current version of the partner, which may differ from the one at the pull; undefined: nothing may be sent for
   * this work.
   */
  current(work: object): Partner | undefined;
  /** Ensures the consumer of retries. */
  prepareRetries(): Promise<void>;
  /** Stops the pulls of this partner until its specification differs from `partner`. */
  disable(partner: Partner): void;
  /** Resolves when the rate that the endpoint granted permits an attempt; deliveries per minute. */
  throttle(perMinute: number): Promise<void>;
  /** Takes what an attempt showed about the partner, and the milliseconds that it took. */
  observe(effect: Effect, tookMs: number, work: object): void;
  /** Reports that a dead letter is rejected, or stored at last. Pulls stop while one is rejected. */
  block(isBlocked: boolean): void;
}
