import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import { attemptRecord, type AttemptRecord } from "../records/attempt-records.ts";
import { deadLetterOf, removedPartnerDeadLetter, type EndedDelivery } from "../records/dead-letter-record.ts";
import { appendDeadLetter } from "./append-dead-letter.ts";
import type { DeliveryContext } from "./delivery-context.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { eventHash } from "../ids.ts";
import { isPing } from "../events/reserved-types.ts";
import type { FailureOutcome } from "../settlement/outcome.ts";
import type { NamedPartner } from "../partners/partner.ts";
import type { Settlement } from "../settlement/settle.ts";

/** A delivery that ends before its next attempt. */
interface UnsentDelivery {
  readonly delivery: DeliveryRecord;
  readonly partner: NamedPartner;
  readonly body: Uint8Array;
  /** Attempts made before. */
  readonly before: readonly AttemptRecord[];
}

/** Reason of the end. */
export interface UnsentReason {
  readonly reason: "backlog_full" | "held_expired" | "partner_removed";
  /** Sentence for the attempt record. */
  readonly detail: string;
}

/** Pod name in the record: no pod made an attempt, so every pod treats the record as another pod's. */
const noPod = "none";

/**
 * Ends a delivery as a dead letter without an attempt and records the reason. The dead letter is stored first: a repeat
 * after a crash stores it once, and the record ends the repeats. A ping leaves only the record.
 *
 * @returns the settlement; undefined when the dead letter is refused and nothing was stored
 * @throws Unanswered when the process must end first
 */
export async function endUnsent(
  context: DeliveryContext,
  { delivery, partner, body, before }: UnsentDelivery,
  { reason, detail }: UnsentReason,
): Promise<Settlement | undefined> {
  const { ending: signal } = context;
  const endedAtMs = context.now();
  const outcome: FailureOutcome = { kind: "failure", reason, detail, timings: { totalMs: 0 } };
  const settlement: Settlement = { kind: "dead", reason };
  const record = attemptRecord({ delivery, partner, startedAtMs: endedAtMs, outcome, settlement, pod: noPod });
  const ended: EndedDelivery = {
    delivery,
    partner,
    state: "dead",
    reason,
    endedAtMs,
    attempts: [...before, record],
    body,
  };
  const hasDeadLetter = !isPing(delivery.type);
  if (hasDeadLetter) {
    const toStore = reason === "partner_removed" ? removedPartnerDeadLetter(ended) : deadLetterOf(ended);
    const count = (): void => context.partnerMetrics.ended(partner.label, delivery, settlement, endedAtMs);
    const answer = await appendDeadLetter(context, toStore, "dead", count);
    if (answer.kind === "refused") return undefined;
  }
  const text = JSON.stringify(record);
  await untilAnswered(() => context.attempts.append(delivery.tenant, eventHash(delivery.eventId), text), { signal });
  return settlement;
}
