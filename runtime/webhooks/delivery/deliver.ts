// Delivery: routes events to deliveries and runs one step of each. Workers (`workers/`) pull the messages.
import { pause } from "../../../limits/clock.ts";
import { pauseAfter } from "../../nats/connection/retry-until-answered.ts";
import { Unanswered } from "../../nats/connection/requests.ts";
import { attemptRecord, type MadeAttempt } from "../records/attempt-records.ts";
import { healthOf, type Effect, healthOfPing } from "../settlement/circuit-breaker.ts";
import { sendAuthorized } from "../authorization/send-authorized.ts";
import { applySettlement } from "./apply-settlement.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import type { DeliveryContext, LaneControl, Work } from "./delivery-context.ts";
import { deliveryHeaders, spliceAttempt, keepSignature, type KeptSignature } from "../signing/signed-request.ts";
import { attemptNumber, type DeliveryRecord } from "../records/delivery-record.ts";
import { isPing } from "../events/reserved-types.ts";
import { eventHash } from "../ids.ts";
import { outcomeCode, type FailureOutcome, type Outcome } from "../settlement/outcome.ts";
import type { Partner } from "../partners/partner.ts";
import { readStoredState } from "./stored-state.ts";
import { decideRedelivery, type RedeliveryDecision } from "./redelivery.ts";
import { requestedWaitMs, settle, type Settlement, settlePing } from "../settlement/settle.ts";
import { signersAt } from "../signing/signers.ts";
import type { AttemptSpan } from "../telemetry/delivery-spans.ts";

/** Refusals and timeouts with a connection after which a delivery continues without its attempt record. */
const recordTriesMax = 5;

/**
 * Runs one step of a delivery. First attempts and retries take the same path: load, sign, send, settle, record, apply.
 * A redelivered message is looked up first, so that a recorded attempt is not sent again.
 *
 * @returns `held` when nothing may be sent now and nothing was done; the caller still holds the message
 * @throws Unanswered when the process must end first
 */
export async function deliver(
  context: DeliveryContext,
  work: Work,
  partner: Partner,
  lane: LaneControl,
): Promise<"done" | "held"> {
  const { message } = work;
  const decision = await decisionOf(context, work, partner);
  switch (decision.kind) {
    case "superseded":
      work.message.ack();
      return "done";
    case "apply":
      await applySettlement(context, work, partner, lane, decision.settlement);
      return "done";
    case "poison":
      await conclude(context, work, lane, poisoned(context, work, partner));
      return "done";
    case "send":
      return attempt(context, work, lane, message);
    default:
      throw new Error(`unknown redelivery decision ${String(decision satisfies never)}`);
  }
}

async function decisionOf(context: DeliveryContext, work: Work, partner: Partner): Promise<RedeliveryDecision> {
  const { delivery, message, redeliveryCheck } = work;
  const isFirstTime = message.deliveryCount === 1;
  // A republished message may have been attempted before it was republished.
  const isFresh = isFirstTime && delivery.hop === 0;
  if (isFresh && !redeliveryCheck.isRequired) {
    return { kind: "send" };
  }
  const decision = decideRedelivery(delivery, await readStoredState(context, delivery, partner), message.deliveryCount);
  // A republished message usually has a trace, which tells nothing about its consumer.
  if (isFirstTime && delivery.hop === 0) {
    redeliveryCheck.report(decision.kind !== "send");
  }
  return decision;
}

/**
 * Waits until the endpoint is validated and the rate that it granted permits an attempt. `held`: nothing may be sent;
 * `done`: the process ends.
 */
async function readyPartner(
  { validations, ending }: DeliveryContext,
  work: Work,
  lane: LaneControl,
): Promise<{ readonly partner: Partner; readonly failure: FailureOutcome | undefined } | "done" | "held"> {
  for (;;) {
    const partner = lane.current(work);
    if (partner === undefined) {
      return "held";
    }
    const { failure, ...granted } = await validations.of(partner, partner.urlFor(work.delivery.type));
    if ("perMinute" in granted && granted.perMinute !== undefined) {
      await lane.throttle(granted.perMinute);
    }
    if (ending.aborted) {
      return "done";
    }
    // The partner may have changed or paused meanwhile. Only another change causes another repeat.
    if (lane.current(work) === partner) {
      return { partner, failure };
    }
  }
}

/** @param decidedFor the message of the decision to send */
async function attempt(
  context: DeliveryContext,
  work: Work,
  lane: LaneControl,
  decidedFor: PulledMessage,
): Promise<"done" | "held"> {
  const { delivery } = work;
  const ready = await readyPartner(context, work, lane);
  if (ready === "held" || ready === "done") {
    return ready;
  }
  const { partner } = ready;
  if (work.message !== decidedFor) {
    // JetStream redelivered the message meanwhile, maybe to another pod before.
    return deliver(context, work, partner, lane);
  }
  if (!decidedFor.isHeld()) {
    // This process stood still. Whoever receives the message looks for the record of an attempt first.
    context.log.warn({ eventId: delivery.eventId, partner: partner.label }, "delivery left to its next owner");
    return "done";
  }
  return (await make(context, work, lane, ready)) ? "done" : attempt(context, work, lane, decidedFor);
}

/**
 * Makes an attempt and applies what follows. Returns false when nothing was sent, because the partner changed or paused
 * or the message was lost while the access token was fetched.
 */
async function make(
  context: DeliveryContext,
  work: Work,
  lane: LaneControl,
  { partner, failure }: { readonly partner: Partner; readonly failure: FailureOutcome | undefined },
): Promise<boolean> {
  const { delivery } = work;
  context.onStage("loaded", delivery.eventId);
  const span = context.spans.attempt(delivery, partner.label);
  const startedAtMs = context.now();
  const { outcome, signed } =
    failure === undefined
      ? await send(context, work, partner, lane, startedAtMs, span)
      : { outcome: failure, signed: undefined };
  // The sender was closed during the attempt. The next worker of the message repeats it.
  if (context.ending.aborted) return true;
  if (outcome === undefined) return false;
  context.onStage("sent", delivery.eventId);
  const { settlement, effect } = settledBy(context, outcome, partner, delivery);
  lane.observe(effect, outcome.timings.totalMs, work);
  const made = { delivery, partner, startedAtMs, outcome, settlement, pod: context.podId };
  const extra = { ...(signed && { signed }), ...(work.isDirect && { direct: work.isDirect }) };
  await conclude(context, work, lane, { ...made, ...extra }, span);
  span.end(settlement);
  return true;
}

function settledBy(
  { now, random }: DeliveryContext,
  outcome: Outcome,
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

/** The outcome is undefined when nothing was sent, because the partner changed or paused meanwhile. */
async function send(
  context: DeliveryContext,
  work: Work,
  partner: Partner,
  lane: LaneControl,
  sentAtMs: number,
  span: AttemptSpan,
): Promise<{ readonly outcome: Outcome | undefined; readonly signed: KeptSignature }> {
  const { delivery, message } = work;
  const { endpoint, signing, networks } = partner.config;
  const keys = signersAt(partner.signers, signing.sideBySide === true, sentAtMs);
  if (keys.length === 0) {
    throw new Error(`signing key of ${partner.label} is missing`);
  }
  const number = attemptNumber(delivery);
  const body = spliceAttempt(message.data, number);
  const url = partner.urlFor(delivery.type);
  const headers = deliveryHeaders(signing.scheme, {
    keys,
    url,
    body,
    eventId: delivery.eventId,
    attempt: number,
    producer: delivery.producer ?? context.installation,
    sentAtMs,
    version: context.version,
    traceparent: span.traceparent,
    endpointHeaders: endpoint.headers,
    ...(endpoint.verification === undefined ? {} : { requestOrigin: context.installation }),
    ...(delivery.replayId === undefined ? {} : { replayId: delivery.replayId }),
  });
  const request = { url, headers, body, timeoutMs: endpoint.timeoutMs, networks };
  const mayBegin = (): boolean => lane.current(work) === partner && work.message === message && message.isHeld();
  const outcome = await sendAuthorized(context, partner, request, mayBegin);
  if (outcome !== undefined) span.sent(url, outcome);
  return { outcome, signed: keepSignature(signing.scheme, keys, url, headers) };
}

/**
 * Writes the record, then applies the settlement. After a direct attempt without success, the caller stores the
 * delivery, and its worker applies the settlement.
 *
 * @param span undefined when nothing was sent
 */
async function conclude(
  context: DeliveryContext,
  work: Work,
  lane: LaneControl,
  made: MadeAttempt,
  span?: AttemptSpan,
): Promise<void> {
  await record(context, made);
  context.onStage("recorded", made.delivery.eventId);
  report(context, made, span?.sampledTraceId);
  if (work.isDirect === true && made.settlement.kind !== "delivered") {
    return;
  }
  await applySettlement(context, work, made.partner, lane, made.settlement);
}

/**
 * Writes the attempt record. When NATS is connected and still does not store it, the delivery continues without it: a
 * lost record is better than a repeated request or a lost delivery.
 */
async function record(context: DeliveryContext, made: MadeAttempt): Promise<void> {
  const { tenant, eventId } = made.delivery;
  const text = JSON.stringify(attemptRecord(made));
  for (let tries = 1; tries <= recordTriesMax;) {
    const problem = await recordOnce(context, tenant, eventHash(eventId), text);
    if (problem === undefined) {
      return;
    }
    if (context.ending.aborted) {
      throw problem;
    }
    // Without a connection no other step would succeed, so these tries do not count.
    const isDisconnected = problem instanceof Unanswered && problem.reason === "disconnected";
    await pause(context.clock, pauseAfter(tries));
    tries += isDisconnected ? 0 : 1;
  }
  context.metrics.recordsLost.inc();
  context.log.error(
    { eventId, tenant, partner: made.partner.label },
    "attempt record not stored, delivery continued without it",
  );
}

async function recordOnce(
  { attempts }: DeliveryContext,
  tenant: string,
  idhash: string,
  text: string,
): Promise<Error | undefined> {
  try {
    const answer = await attempts.append(tenant, idhash, text);
    return answer.kind === "refused" ? new Error(answer.detail) : undefined;
  } catch (error) {
    if (error instanceof Unanswered) {
      return error;
    }
    throw error;
  }
}

function report(context: DeliveryContext, made: MadeAttempt, traceId: string | undefined): void {
  const { delivery, partner, outcome, settlement } = made;
  const { totalMs } = outcome.timings;
  if (!isPing(delivery.type)) measure(context, made, traceId);
  const fields = {
    eventId: delivery.eventId,
    tenant: delivery.tenant,
    type: delivery.type,
    partner: partner.label,
    attempt: attemptNumber(delivery),
    generation: delivery.generation,
    outcome: settlement.kind,
    code: outcomeCode(outcome),
    durationMs: Math.round(totalMs),
    // Callers get a sentence without addresses; the log has the detail.
    ...(outcome.kind === "failure" ? { detail: outcome.detail } : {}),
    ...nextAttemptAt(settlement),
  };
  context.log.info(fields, "attempt");
}

function measure(
  { metrics, partnerMetrics, now }: DeliveryContext,
  { delivery, partner, outcome, settlement }: MadeAttempt,
  traceId: string | undefined,
): void {
  const { totalMs } = outcome.timings;
  metrics.attempts.inc({ outcome: settlement.kind });
  partnerMetrics.answered(partner.label, outcome);
  metrics.attemptSeconds.observe({ outcome: settlement.kind }, totalMs / 1_000, traceId);
  // Any other end counts with its dead letter, which is stored once.
  if (settlement.kind === "delivered") {
    partnerMetrics.ended(partner.label, delivery, settlement, now());
    metrics.deliverySeconds.observe({}, Math.max(0, now() - delivery.acceptedAtMs) / 1_000, traceId);
  }
}

function nextAttemptAt(settlement: Settlement): { readonly nextAttemptAt?: string } {
  return settlement.kind === "retry" ? { nextAttemptAt: new Date(settlement.atMs).toISOString() } : {};
}

/** Builds the attempt that ends a message which probably crashes its workers. */
function poisoned(context: DeliveryContext, { delivery, message }: Work, partner: Partner): MadeAttempt {
  const outcome: FailureOutcome = {
    kind: "failure",
    reason: "aborted",
    detail: `delivered to workers ${message.deliveryCount} times without an outcome`,
    timings: { totalMs: 0 },
  };
  const settlement: Settlement = { kind: "dead", reason: outcome.reason };
  return { delivery, partner, startedAtMs: context.now(), outcome, settlement, pod: context.podId };
}
