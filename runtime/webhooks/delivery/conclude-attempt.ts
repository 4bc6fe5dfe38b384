import { pause } from "../../../limits/clock.ts";
import { pauseAfter } from "../../nats/connection/retry-until-reply.ts";
import { NoReplyError } from "../../nats/connection/requests.ts";
import { isPing } from "../events/envelope.ts";
import { eventHash } from "../ids.ts";
import { attemptRecord, type MadeAttempt } from "../records/attempt-records.ts";
import { attemptNumber } from "../records/delivery-record.ts";
import { outcomeCode } from "../settlement/outcome.ts";
import type { Settlement } from "../settlement/settle.ts";
import type { DeliveryContext } from "./delivery-context.ts";

/** Rejections and timeouts with a connection after which a delivery continues without its attempt record. */
const recordTriesMax = 5;

/**
 * Writes the record of an attempt, reports it, then applies its settlement.
 *
 * @param traceId of the sampled trace of the attempt, if any
 */
export async function concludeAttempt(
  context: DeliveryContext,
  made: MadeAttempt,
  apply: (made: MadeAttempt) => Promise<void>,
  traceId?: string,
): Promise<void> {
  await record(context, made);
  report(context, made, traceId);
  await apply(made);
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
    if (problem === undefined) return;
    if (context.ending.aborted) throw problem;
    // Without a connection no other step would succeed, so these tries do not count.
    const isDisconnected = problem instanceof NoReplyError && problem.reason === "disconnected";
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
    const result = await attempts.append(tenant, idhash, text);
    return result.kind === "rejected" ? new Error(result.detail) : undefined;
  } catch (error) {
    if (error instanceof NoReplyError) return error;
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
  partnerMetrics.responded(partner.label, outcome);
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
