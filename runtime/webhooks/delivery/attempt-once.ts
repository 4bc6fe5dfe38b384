import { authorizationHeaders, sendAuthorized } from "../authorization/send-authorized.ts";
import { isPing } from "../events/envelope.ts";
import { cloudEventContentType, toCloudEvent } from "../events/to-cloud-event.ts";
import type { Partner } from "../partners/partner.ts";
import type { MadeAttempt } from "../records/attempt-records.ts";
import { attemptNumber, type DeliveryRecord } from "../records/delivery-record.ts";
import { recordSent, type SentRequest } from "../records/sent-request.ts";
import { healthOf, healthOfPing, type Effect } from "../settlement/circuit-breaker.ts";
import type { FailureOutcome, AttemptOutcome } from "../settlement/outcome.ts";
import { requestedWaitMs, settle, settlePing, type Settlement } from "../settlement/settle.ts";
import { deliveryHeaders, keepSignature, spliceAttempt, type KeptSignature } from "../signing/signed-request.ts";
import { signersAt } from "../signing/keys.ts";
import type { AttemptSpan } from "../telemetry/delivery-spans.ts";
import { concludeAttempt } from "./conclude-attempt.ts";
import type { DeliveryContext, LaneControl } from "./delivery-context.ts";

/** A delivery whose attempt is under way here. The object identifies the attempt to the limits of its partner. */
export interface DeliveryToAttempt {
  readonly delivery: DeliveryRecord;
  /** Milliseconds of the monotonic clock. */
  readonly sinceMs: number;
}

/** What an attempt is made from: the stored message of its delivery, or the event that is held instead. */
export interface AttemptSource {
  /** The event as its producer sent it. */
  readonly body: Uint8Array;
  /** Present when the delivery is not stored; its record contains that. */
  readonly isDirect?: true;
  /** `redelivered` once JetStream delivered the message again here, `lost` when another worker may have it. */
  readonly holding: () => "held" | "redelivered" | "lost";
  /** Applies the settlement of the attempt, whose record is stored. */
  readonly apply: (made: MadeAttempt) => Promise<void>;
}

interface ReadyPartner {
  readonly partner: Partner;
  /** The failed validation of its endpoint, for which nothing is sent. */
  readonly failure: FailureOutcome | undefined;
}

/**
 * Makes one attempt and applies what follows.
 *
 * @returns `done` also when the process ends, or another worker may have the delivery; `held` and `redelivered` when
 *   nothing was sent
 */
export async function attemptOnce(
  context: DeliveryContext,
  attempt: DeliveryToAttempt,
  source: AttemptSource,
  lane: LaneControl,
): Promise<"done" | "held" | "redelivered"> {
  for (;;) {
    const ready = await readyPartner(context, attempt, lane);
    if (ready === "held" || ready === "done") return ready;
    const holding = source.holding();
    if (holding === "redelivered") return holding;
    if (holding === "lost") {
      // This process stood still. Whoever receives the message looks for the record of an attempt first.
      const fields = { eventId: attempt.delivery.eventId, partner: ready.partner.label };
      context.log.warn(fields, "delivery handed over to the next owner");
      return "done";
    }
    if (await make(context, attempt, source, lane, ready)) return "done";
  }
}

/**
 * Waits until the endpoint is validated and the rate that it granted permits an attempt. `held`: nothing may be sent;
 * `done`: the process ends.
 */
async function readyPartner(
  { validations, ending }: DeliveryContext,
  attempt: DeliveryToAttempt,
  lane: LaneControl,
): Promise<ReadyPartner | "done" | "held"> {
  for (;;) {
    const partner = lane.current(attempt);
    if (partner === undefined) return "held";
    const { failure, ...granted } = await validations.of(partner, partner.urlFor(attempt.delivery.type));
    if ("perMinute" in granted && granted.perMinute !== undefined) await lane.throttle(granted.perMinute);
    if (ending.aborted) return "done";
    // The partner may have changed or paused meanwhile. Only another change causes another repeat.
    if (lane.current(attempt) === partner) return { partner, failure };
  }
}

/**
 * Returns false when nothing was sent, because the partner changed or paused or the message was lost while the access
 * token was fetched.
 */
async function make(
  context: DeliveryContext,
  attempt: DeliveryToAttempt,
  source: AttemptSource,
  lane: LaneControl,
  { partner, failure }: ReadyPartner,
): Promise<boolean> {
  const { delivery } = attempt;
  const span = context.spans.attempt(delivery, partner.label);
  const startedAtMs = context.now();
  const mayBegin = (): boolean => lane.current(attempt) === partner && source.holding() === "held";
  const { outcome, signed, sent }: Sent =
    failure === undefined
      ? await send(context, { delivery, partner, body: source.body, startedAtMs, mayBegin }, span)
      : { outcome: failure };
  // The sender was closed during the attempt. The next worker of the message repeats it.
  if (context.ending.aborted) return true;
  if (outcome === undefined) return false;
  const { settlement, effect } = settledBy(context, outcome, partner, delivery);
  lane.observe(effect, outcome.timings.totalMs, attempt);
  const made = { delivery, partner, startedAtMs, outcome, settlement, pod: context.podId };
  const extra = {
    ...(signed && { signed }),
    ...(sent && { sent }),
    ...(source.isDirect && { direct: source.isDirect }),
  };
  const apply = async (concluded: MadeAttempt): Promise<void> => {
    // Whoever works on the partner after this attempt must find its pause.
    await context.holds.kept(partner.key);
    await source.apply(concluded);
  };
  await concludeAttempt(context, { ...made, ...extra }, apply, span.sampledTraceId);
  span.end(settlement);
  return true;
}

function settledBy(
  { now, random }: DeliveryContext,
  outcome: AttemptOutcome,
  { config }: Partner,
  delivery: DeliveryRecord,
): { readonly settlement: Settlement; readonly effect: Effect } {
  const nowMs = now();
  const pauseMs = requestedWaitMs(outcome, nowMs) ?? 0;
  if (isPing(delivery.type)) {
    const settlement = settlePing(outcome, delivery, nowMs);
    return { settlement, effect: { health: healthOfPing(settlement), pauseMs } };
  }
  const settlement = settle(outcome, config.retry, delivery, nowMs, random);
  return { settlement, effect: { health: healthOf(outcome, settlement), pauseMs } };
}

interface RequestToSend {
  readonly delivery: DeliveryRecord;
  readonly partner: Partner;
  readonly body: Uint8Array;
  readonly startedAtMs: number;
  /** False once the partner changed or paused, or the message was lost. */
  readonly mayBegin: () => boolean;
}

interface Sent {
  /** Undefined when nothing was sent, because the partner changed or paused meanwhile. */
  readonly outcome: AttemptOutcome | undefined;
  readonly signed?: KeptSignature;
  readonly sent?: SentRequest;
}

async function send(
  context: DeliveryContext,
  { delivery, partner, body: bytes, startedAtMs, mayBegin }: RequestToSend,
  span: AttemptSpan,
): Promise<Sent> {
  const { endpoint, signing, networks } = partner.config;
  const keys = signersAt(partner.signers, signing.sideBySide === true, startedAtMs);
  if (keys.length === 0) throw new Error(`signing key of ${partner.label} is missing`);
  const number = attemptNumber(delivery);
  const producer = delivery.producer ?? context.installation;
  const isCloudEvent = partner.config.format === "CloudEvents";
  const body = spliceAttempt(isCloudEvent ? toCloudEvent(bytes, producer) : bytes, number);
  const url = partner.urlFor(delivery.type);
  const headers = deliveryHeaders(signing.scheme, {
    keys,
    url,
    body,
    eventId: delivery.eventId,
    attempt: number,
    producer,
    sentAtMs: startedAtMs,
    version: context.version,
    traceparent: span.traceparent,
    endpointHeaders: endpoint.headers,
    ...(isCloudEvent ? { contentType: cloudEventContentType } : {}),
    ...(endpoint.verification === undefined ? {} : { requestOrigin: context.installation }),
    ...(delivery.replayId === undefined ? {} : { replayId: delivery.replayId }),
  });
  const request = { url, headers, body, timeoutMs: endpoint.timeoutMs, networks };
  const outcome = await sendAuthorized(context, partner, request, mayBegin);
  const signed = keepSignature(signing.scheme, keys, url, headers);
  if (outcome === undefined) return { outcome, signed };
  span.sent(url, outcome);
  const authorized = authorizationHeaders(partner);
  const sent = recordSent({ url, headers, signed, fixed: endpoint.headers, authorized }, outcome);
  return { outcome, signed, ...(sent && { sent }) };
}
