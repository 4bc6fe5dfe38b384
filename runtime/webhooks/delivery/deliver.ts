import { pause } from "../../bounds/clock.ts";
import { pauseAfter } from "../../nats/connection/retry-until-answered.ts";
import { Unanswered } from "../../nats/connection/requests.ts";
import { attemptRecord, type MadeAttempt } from "../records/attempt-records.ts";
import { healthOf } from "../settlement/circuit-breaker.ts";
import { sendAuthorized } from "../authorization/send-authorized.ts";
import { applySettlement } from "./apply-settlement.ts";
import type { DeliveryContext, LaneControl, Work } from "./delivery-context.ts";
import { deliveryHeaders } from "../signing/delivery-headers.ts";
import { attemptNumber } from "../records/delivery-record.ts";
import { spliceAttempt } from "../events/envelope.ts";
import { eventHash } from "../ids.ts";
import { outcomeCode, type FailureOutcome, type Outcome } from "../settlement/outcome.ts";
import type { Partner } from "../partners/partner.ts";
import { readStoredState } from "./stored-state.ts";
import { decideRedelivery, type RedeliveryDecision } from "./redelivery.ts";
import { settle, type Settlement } from "../settlement/settle.ts";
import { signersAt } from "../signing/signers.ts";
import { traceparentOf } from "../telemetry/traceparent.ts";

/** Answers that refuse a record, and silences while there is a connection, before the delivery goes on without it. */
const recordTriesMax = 5;

/**
 * Brings one delivery one step further. First attempts and retries take this one path: load, sign, send, settle,
 * record, carry out. A message that was handed out before is looked up first, so that nobody is asked twice what was
 * answered.
 *
 * @returns `held` when nothing was done since nothing may be sent now: the message is still in the caller's hands
 * @throws Unanswered when the process must end first
 */
export async function deliver(
  context: DeliveryContext,
  work: Work,
  partner: Partner,
  lane: LaneControl,
): Promise<"done" | "held"> {
  const decision = await decisionOf(context, work, partner);
  switch (decision.kind) {
    case "superseded":
      work.message.ack();
      return "done";
    case "carry_out":
      await applySettlement(context, work, partner, lane, decision.settlement);
      return "done";
    case "poison":
      await conclude(context, work, lane, poisoned(context, work, partner));
      return "done";
    case "send":
      return attempt(context, work, lane);
    default:
      throw new Error(`unknown resumption ${String(decision satisfies never)}`);
  }
}

async function decisionOf(context: DeliveryContext, work: Work, partner: Partner): Promise<RedeliveryDecision> {
  const { delivery, message, redeliveryCheck } = work;
  const isFirstTime = message.deliveryCount === 1;
  // What was published again without an attempt may have been attempted before that.
  const isFresh = isFirstTime && delivery.hop === 0;
  if (isFresh && !redeliveryCheck.isRequired) {
    return { kind: "send" };
  }
  const decision = decideRedelivery(delivery, await readStoredState(context, delivery, partner), message.deliveryCount);
  if (isFirstTime) {
    redeliveryCheck.report(decision.kind !== "send");
  }
  return decision;
}

async function attempt(context: DeliveryContext, work: Work, lane: LaneControl): Promise<"done" | "held"> {
  const { delivery } = work;
  const partner = lane.current();
  if (partner === undefined) {
    return "held";
  }
  const validation = await context.validations.of(partner, partner.urlFor(delivery.type));
  if (validation.failure === undefined && validation.perMinute !== undefined) {
    await lane.throttle(validation.perMinute);
  }
  if (context.ending.aborted) {
    return "done";
  }
  if (lane.current() !== partner) {
    // It changed while its endpoint was asked. Only another change of the configuration does that once more.
    return attempt(context, work, lane);
  }
  context.onStage("loaded", delivery.eventId);
  const startedAtMs = context.now();
  const outcome = validation.failure ?? (await send(context, work, partner, startedAtMs));
  if (context.ending.aborted) {
    // The sender was closed under it: who gets the message next tries again.
    return "done";
  }
  context.onStage("sent", delivery.eventId);
  const settlement = settle(outcome, partner.config.retry, delivery, context.now(), context.random);
  lane.observe(healthOf(outcome, settlement));
  await conclude(context, work, lane, { delivery, partner, startedAtMs, outcome, settlement, pod: context.podId });
  return "done";
}

function send(context: DeliveryContext, work: Work, partner: Partner, sentAtMs: number): Promise<Outcome> {
  const { delivery, message } = work;
  const { endpoint, signing, networks } = partner.config;
  const keys = signersAt(partner.signers, signing.sideBySide === true, sentAtMs);
  if (keys.length === 0) {
    throw new Error(`the signing key of ${partner.label} is missing`);
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
    traceparent: traceparentOf(delivery.did, number),
    endpointHeaders: endpoint.headers,
    ...(delivery.replayId === undefined ? {} : { replayId: delivery.replayId }),
  });
  return sendAuthorized(context, partner, { url, headers, body, timeoutMs: endpoint.timeoutMs, networks });
}

/** Writes the record, and only then does what was settled. */
async function conclude(context: DeliveryContext, work: Work, lane: LaneControl, made: MadeAttempt): Promise<void> {
  await record(context, made);
  context.onStage("recorded", made.delivery.eventId);
  report(context, made);
  await applySettlement(context, work, made.partner, lane, made.settlement);
}

/**
 * Writes the attempt record. When it cannot be written though NATS is there, the delivery goes on without it: losing a
 * line of history is better than asking the partner again or losing the delivery.
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
    // Without a connection nothing else could be done either: that is no reason to go on without the record.
    const isAway = problem instanceof Unanswered && problem.reason === "disconnected";
    await pause(context.clock, pauseAfter(tries));
    tries += isAway ? 0 : 1;
  }
  context.metrics.recordsLost.inc();
  context.log.error({ eventId, tenant, partner: made.partner.label }, "attempt record not stored, going on without it");
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

function report(
  { log, metrics, partnerMetrics, now }: DeliveryContext,
  { delivery, partner, outcome, settlement }: MadeAttempt,
): void {
  const { totalMs } = outcome.timings;
  metrics.attempts.inc({ outcome: settlement.kind });
  partnerMetrics.answered(partner.label, outcome);
  partnerMetrics.ended(partner.label, delivery, settlement, now());
  metrics.attemptSeconds.observe({ outcome: settlement.kind }, totalMs / 1_000);
  if (settlement.kind === "delivered") {
    metrics.deliverySeconds.observe(Math.max(0, now() - delivery.acceptedAtMs) / 1_000);
  }
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
    // Callers are told a sentence; addresses and answers of resolvers stand here.
    ...(outcome.kind === "failure" ? { detail: outcome.detail } : {}),
    ...nextAttemptAt(settlement),
  };
  log.info(fields, "attempt");
}

function nextAttemptAt(settlement: Settlement): { readonly nextAttemptAt?: string } {
  return settlement.kind === "retry" ? { nextAttemptAt: new Date(settlement.atMs).toISOString() } : {};
}

/** Whoever took this message died over it, again and again. */
function poisoned(context: DeliveryContext, { delivery, message }: Work, partner: Partner): MadeAttempt {
  const outcome: FailureOutcome = {
    kind: "failure",
    reason: "aborted",
    detail: `handed out ${message.deliveryCount} times, and nobody came back with an outcome`,
    timings: { totalMs: 0 },
  };
  const settlement: Settlement = { kind: "dead", reason: outcome.reason };
  return { delivery, partner, startedAtMs: context.now(), outcome, settlement, pod: context.podId };
}
