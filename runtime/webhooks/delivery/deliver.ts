// Delivery: runs one step of a delivery. Workers (`workers/`) pull the messages, routers (`routing/`) store them.
import type { MadeAttempt } from "../records/attempt-records.ts";
import type { FailureOutcome } from "../settlement/outcome.ts";
import type { Partner } from "../partners/partner.ts";
import type { Settlement } from "../settlement/settle.ts";
import {
  appendDeadLetter,
  applySettlement,
  endedDelivery,
  reportSettled,
  type FinalFailure,
} from "./apply-settlement.ts";
import { attemptOnce, type AttemptSource, type DeliveryToAttempt } from "./attempt-once.ts";
import { concludeAttempt } from "./conclude-attempt.ts";
import type { DeliveryContext, HeldEvent, LaneControl, Work } from "./delivery-context.ts";
import { decideRedelivery, readStoredState, type RedeliveryDecision } from "./redelivery.ts";

/**
 * Runs one step of a stored delivery. First attempts and retries take the same path: load, sign, send, settle, record,
 * apply. A redelivered message is looked up first, so that a recorded attempt is not sent again.
 *
 * @returns `held` when nothing may be sent now and nothing was done; the caller still holds the message
 * @throws NoReplyError when the process must end first
 */
export async function deliver(
  context: DeliveryContext,
  work: Work,
  partner: Partner,
  lane: LaneControl,
): Promise<"done" | "held"> {
  const source = sourceOf(context, work, lane);
  const decision = await decisionOf(context, work, partner);
  switch (decision.kind) {
    case "superseded":
      work.message.ack();
      return "done";
    case "apply":
      await applySettlement(context, work, partner, lane, decision.settlement);
      return "done";
    case "poison":
      await concludeAttempt(context, poisoned(context, work, partner), source.apply);
      return "done";
    case "send": {
      const end = await attemptOnce(context, work, source, lane);
      // JetStream redelivered the message meanwhile, maybe to another pod before.
      return end === "redelivered" ? deliver(context, work, lane.current(work) ?? partner, lane) : end;
    }
  }
}

/**
 * Makes the first attempt of a delivery that is not stored. An attempt without a retry ends the delivery. Otherwise, or
 * while its dead letter is rejected, the caller stores the delivery, and its worker applies the recorded settlement.
 *
 * @returns whether the delivery has ended
 * @throws NoReplyError when the process must end first
 */
export async function deliverDirectly(
  context: DeliveryContext,
  attempt: DeliveryToAttempt,
  { body, isHeld }: HeldEvent,
  lane: LaneControl,
): Promise<boolean> {
  let hasEnded = false;
  const apply = async ({ delivery, partner, settlement }: MadeAttempt): Promise<void> => {
    if (settlement.kind !== "delivered") {
      // Without the event, another router has stored the delivery by now.
      if (settlement.kind !== "retry" && isHeld())
        hasEnded = await endDirectly(context, { delivery, partner, settlement }, body, lane);
      return;
    }
    await context.onSettled({ delivery, partner, settlement });
    hasEnded = true;
  };
  const holding = () => (isHeld() ? "held" : "lost");
  await attemptOnce(context, attempt, { body, isDirect: true, holding, apply }, lane);
  return hasEnded;
}

/** Stores the dead letter of a delivery that is not stored. Returns false while it is rejected. @throws NoReplyError */
async function endDirectly(
  context: DeliveryContext,
  made: Pick<MadeAttempt, "delivery" | "partner"> & { readonly settlement: FinalFailure },
  body: Uint8Array,
  lane: LaneControl,
): Promise<boolean> {
  await reportSettled(context, made, lane);
  // A router that gets the event again stores this step, whose dead letter has the same id.
  const delivery = { ...made.delivery, hop: 1 };
  const { attempts } = await readStoredState(context, delivery, made.partner);
  const ended = endedDelivery(context, { ...made, delivery, body }, attempts, made.settlement);
  if (ended === undefined) return true;
  return (await appendDeadLetter(context, ended.deadLetter, ended.state, ended.onNew)).kind !== "rejected";
}

/** The source of an attempt by the latest delivery of a message. */
function sourceOf(context: DeliveryContext, work: Work, lane: LaneControl): AttemptSource {
  const { message } = work;
  return {
    body: message.data,
    holding: () => (work.message !== message ? "redelivered" : message.isHeld() ? "held" : "lost"),
    apply: ({ partner, settlement }) => applySettlement(context, work, partner, lane, settlement),
  };
}

async function decisionOf(context: DeliveryContext, work: Work, partner: Partner): Promise<RedeliveryDecision> {
  const { delivery, message, redeliveryCheck } = work;
  const isFirstTime = message.deliveryCount === 1;
  // A republished message may have been attempted before it was republished.
  const isFresh = isFirstTime && delivery.hop === 0 && work.hasAttempt !== true;
  if (isFresh && !redeliveryCheck.isRequired) return { kind: "send" };
  const decision = decideRedelivery(delivery, await readStoredState(context, delivery, partner), message.deliveryCount);
  // A republished message usually has a trace, which tells nothing about its consumer.
  if (isFresh) redeliveryCheck.report(decision.kind !== "send");
  return decision;
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
