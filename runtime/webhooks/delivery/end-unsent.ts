import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import { attemptRecord, type AttemptRecord } from "../records/attempt-records.ts";
import { deadLetterOf, removedPartnerDeadLetter, type EndedDelivery } from "../records/dead-letter-record.ts";
import type { DeliveryContext } from "./delivery-context.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { eventHash } from "../ids.ts";
import type { FailureOutcome } from "../settlement/outcome.ts";
import type { NamedPartner } from "../partners/partner.ts";
import type { Settlement } from "../settlement/settle.ts";

/** A delivery whose next attempt is never made. */
interface UnsentDelivery {
  readonly delivery: DeliveryRecord;
  readonly partner: NamedPartner;
  readonly body: Uint8Array;
  /** Attempts that were made. */
  readonly before: readonly AttemptRecord[];
}

/** Why it is not. */
export interface UnsentReason {
  readonly reason: "backlog_full" | "held_expired" | "partner_removed";
  /** For people. */
  readonly detail: string;
}

/** In records: no pod has made an attempt, so every pod takes the record for another one's. */
const noPod = "none";

/**
 * Ends a delivery as a dead letter without an attempt, with a line of history that says why. The dead letter comes
 * first: a repeat after a crash stores it once, while the record ends the repeats.
 *
 * @returns the settlement; undefined when the dead letter is refused, and nothing is done
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
  const toStore = reason === "partner_removed" ? removedPartnerDeadLetter(ended) : deadLetterOf(ended);
  const answer = await untilAnswered(() => context.deadLetters.append(toStore), { signal });
  if (answer.kind === "refused") {
    return undefined;
  }
  const text = JSON.stringify(record);
  await untilAnswered(() => context.attempts.append(delivery.tenant, eventHash(delivery.eventId), text), { signal });
  context.metrics.deadLetters.inc({ state: "dead", reason });
  return settlement;
}
