import type { Clock } from "../../bounds/clock.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import type { Health } from "../settlement/circuit-breaker.ts";
import type { EndpointValidations } from "../authorization/endpoint-validation.ts";
import type { Tokens } from "../authorization/access-tokens.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import type { Log } from "../log.ts";
import type { DeliveryMetrics } from "../telemetry/delivery-metrics.ts";
import type { DisabledPartners } from "../partners/disabled-partners.ts";
import type { NamedPartner, Partner } from "../partners/partner.ts";
import type { PartnerMetrics } from "../telemetry/partner-metrics.ts";
import type { Sender } from "../sending/send.ts";
import type { Settlement } from "../settlement/settle.ts";
import type { RedeliveryCheck } from "./redelivery-check.ts";

/**
 * Points in the life of a message at which a process can die. Routing: `routing`, then `routed_one` after each delivery
 * that was stored. Delivery: `loaded` before the POST, `sent` after it, `recorded`, then `passed_on` when what follows
 * (the next attempt, the dead letter) is stored and nothing is acknowledged yet, `acknowledged`.
 */
export type Stage = "routing" | "routed_one" | "loaded" | "sent" | "recorded" | "passed_on" | "acknowledged";

/** What became of one attempt. */
export interface SettledDelivery {
  readonly delivery: DeliveryRecord;
  readonly partner: NamedPartner;
  readonly settlement: Settlement;
}

/** Everything a delivery needs besides itself and its partner. */
export interface DeliveryContext {
  readonly deliveries: DeliveriesStream;
  readonly attempts: AttemptsStream;
  readonly deadLetters: DeadLettersStream;
  readonly disabled: DisabledPartners;
  readonly sender: Sender;
  readonly tokens: Tokens;
  readonly validations: EndpointValidations;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  /** What attempts, retries and changes of consumers wait by. */
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
  readonly partnerMetrics: PartnerMetrics;
  /** Called at every stage; for fault tests. */
  readonly onStage: (stage: Stage, eventId: string) => void;
  /** Told of every settlement before it is carried out, at least once each. Never rejects. */
  readonly onSettled: (settled: SettledDelivery) => Promise<void>;
  /** Told when deliveries to a partner begin to rest. Never rejects. */
  readonly onBreakerOpen: (partner: Partner, restMs: number) => Promise<void>;
  /** Aborted when the process must end: nothing new is tried, and what is under way is left to others. */
  readonly ending: AbortSignal;
}

/** One message in work. */
export interface Work {
  readonly delivery: DeliveryRecord;
  /** That of the pull it came by. */
  readonly redeliveryCheck: RedeliveryCheck;
  /** As it was handed out last: when JetStream lost patience it hands the same message out again, to the same work. */
  message: PulledMessage;
  /** Milliseconds of the monotonic clock. */
  readonly sinceMs: number;
}

/** What a delivery can ask of those who pull its partner's messages. */
export interface LaneControl {
  /**
   * The partner as it is to be sent to now, whatever it was when its message was pulled; undefined: nothing may be
   * sent.
   */
  current(): Partner | undefined;
  /** Sees to it that retries will be pulled. */
  prepareRetries(): Promise<void>;
  /** Pulls no more of this partner as long as its specification is the one of `partner`. */
  disable(partner: Partner): void;
  /** Resolves when an attempt may begin by the rate that the endpoint consented to; deliveries a minute. */
  throttle(perMinute: number): Promise<void>;
  /** What an attempt, just ended, says about the partner. */
  observe(health: Health): void;
  /** A dead letter cannot be stored, or can be at last: while there is any such, nothing is pulled. */
  block(isBlocked: boolean): void;
}
