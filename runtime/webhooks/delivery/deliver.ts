import { pause } from "../../bounds/clock.ts";
import { pauseAfter } from "../../nats/connection/retry-until-answered.ts";
import { Unanswered } from "../../nats/connection/requests.ts";
import { attemptRecord, type MadeAttempt } from "../records/attempt-records.ts";
import { healthOf } from "../settlement/circuit-breaker.ts";
import { sendAuthorized } from "../authorization/send-authorized.ts";
import { carryOut } from "./apply-settlement.ts";
import type { DeliveryContext, LaneControl, Work } from "./delivery-context.ts";
import { deliveryHeaders } from "../signing/delivery-headers.ts";
import { attemptNumber } from "../records/delivery-record.ts";
import { spliceAttempt } from "../events/envelope.ts";
import { eventHash } from "../ids.ts";
import { outcomeCode, type FailureOutcome, type Outcome } from "../settlement/outcome.ts";
import type { Partner } from "../partners/partner.ts";
import { readPast } from "./stored-state.ts";
import { resume, type Resumption } from "./redelivery.ts";
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
  const resumption = await resumptionOf(context, work, partner);
  switch (resumption.kind) {
    case "superseded":
      work.message.ack();
      return "done";
    case "carry_out":
      await carryOut(context, work, partner, lane, resumption.settlement);
      return "done";
    case "poison":
      await conclude(context, work, lane, poisoned(context, work, partner));
      return "done";
    case "send":
      return attempt(context, work, lane);
    default:
      throw new Error(`unknown resumption ${String(resumption satisfies never)}`);
  }
}

async function resumptionOf(context: DeliveryContext, work: Work, partner: Partner): Promise<Resumption> {
  const { item, message, suspicion } = work;
  const isFirstTime = message.deliveryCount === 1;
  // What was published again without an attempt may have been attempted before that.
  const isFresh = isFirstTime && item.hop === 0;
  if (isFresh && !suspicion.isRaised) {
    return { kind: "send" };
  }
  const resumption = resume(item, await readPast(context, item, partner), message.deliveryCount);
  if (isFirstTime) {
    suspicion.report(resumption.kind !== "send");
  }
  return resumption;
}

async function attempt(context: DeliveryContext, work: Work, lane: LaneControl): Promise<"done" | "held"> {
  const { item } = work;
  const partner = lane.current();
  if (partner === undefined) {
    return "held";
  }
  const consent = await context.consents.of(partner, partner.urlFor(item.type));
  if (consent.failure === undefined && consent.perMinute !== undefined) {
    await lane.pace(consent.perMinute);
  }
  if (context.ending.aborted) {
    return "done";
  }
  if (lane.current() !== partner) {
    // It changed while its endpoint was asked. Only another change of the configuration does that once more.
    return attempt(context, work, lane);
  }
  context.onStage("loaded", item.eventId);
  const startedAtMs = context.now();
  const outcome = consent.failure ?? (await send(context, work, partner, startedAtMs));
  if (context.ending.aborted) {
    // The sender was closed under it: who gets the message next tries again.
    return "done";
  }
  context.onStage("sent", item.eventId);
  const settlement = settle(outcome, partner.config.retry, item, context.now(), context.random);
  lane.observe(healthOf(outcome, settlement));
  await conclude(context, work, lane, { item, partner, startedAtMs, outcome, settlement, pod: context.podId });
  return "done";
}

function send(context: DeliveryContext, work: Work, partner: Partner, sentAtMs: number): Promise<Outcome> {
  const { item, message } = work;
  const { endpoint, signing, networks } = partner.config;
  const keys = signersAt(partner.signers, signing.sideBySide === true, sentAtMs);
  if (keys.length === 0) {
    throw new Error(`the signing key of ${partner.label} is missing`);
  }
  const number = attemptNumber(item);
  const body = spliceAttempt(message.data, number);
  const url = partner.urlFor(item.type);
  const headers = deliveryHeaders(signing.scheme, {
    keys,
    url,
    body,
    eventId: item.eventId,
    attempt: number,
    producer: item.producer ?? context.installation,
    sentAtMs,
    version: context.version,
    traceparent: traceparentOf(item.did, number),
    endpointHeaders: endpoint.headers,
    ...(item.replayId === undefined ? {} : { replayId: item.replayId }),
  });
  return sendAuthorized(context, partner, { url, headers, body, timeoutMs: endpoint.timeoutMs, networks });
}

/** Writes the record, and only then does what was settled. */
async function conclude(context: DeliveryContext, work: Work, lane: LaneControl, made: MadeAttempt): Promise<void> {
  await record(context, made);
  context.onStage("recorded", made.item.eventId);
  report(context, made);
  await carryOut(context, work, made.partner, lane, made.settlement);
}

/**
 * Writes the attempt record. When it cannot be written though NATS is there, the delivery goes on without it: losing a
 * line of history is better than asking the partner again or losing the delivery.
 */
async function record(context: DeliveryContext, made: MadeAttempt): Promise<void> {
  const { tenant, eventId } = made.item;
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
  { item, partner, outcome, settlement }: MadeAttempt,
): void {
  const { totalMs } = outcome.timings;
  metrics.attempts.inc({ outcome: settlement.kind });
  partnerMetrics.answered(partner.label, outcome);
  partnerMetrics.ended(partner.label, item, settlement, now());
  metrics.attemptSeconds.observe({ outcome: settlement.kind }, totalMs / 1_000);
  if (settlement.kind === "delivered") {
    metrics.deliverySeconds.observe(Math.max(0, now() - item.acceptedAtMs) / 1_000);
  }
  const fields = {
    eventId: item.eventId,
    tenant: item.tenant,
    type: item.type,
    partner: partner.label,
    attempt: attemptNumber(item),
    generation: item.generation,
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
function poisoned(context: DeliveryContext, { item, message }: Work, partner: Partner): MadeAttempt {
  const outcome: FailureOutcome = {
    kind: "failure",
    reason: "aborted",
    detail: `handed out ${message.deliveryCount} times, and nobody came back with an outcome`,
    timings: { totalMs: 0 },
  };
  const settlement: Settlement = { kind: "dead", reason: outcome.reason };
  return { item, partner, startedAtMs: context.now(), outcome, settlement, pod: context.podId };
}
