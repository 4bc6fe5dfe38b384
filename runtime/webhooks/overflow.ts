import { untilAnswered } from "../nats/persistence.ts";
import { attemptRecord } from "./attempts.ts";
import { deadLetter } from "./dead-letters.ts";
import type { DeliveryContext } from "./delivery-context.ts";
import type { DeliveryItem } from "./delivery-item.ts";
import { eventHash } from "./ids.ts";
import type { FailureOutcome } from "./outcome.ts";
import type { Partner } from "./partner.ts";
import type { Settlement } from "./settle.ts";

/**
 * Keeps a delivery as a dead letter at once, because too much waits for its partner, with a line of history that says
 * so. The dead letter comes first: a repeat after a crash stores it once, while the record ends the repeats.
 *
 * @returns false when the dead letter is refused; the delivery must then wait with the others
 * @throws Unanswered when the process must end first
 */
export async function overflow(
  context: DeliveryContext,
  item: DeliveryItem,
  partner: Partner,
  body: Uint8Array,
): Promise<boolean> {
  const { ending: signal } = context;
  const endedAtMs = context.now();
  const outcome: FailureOutcome = {
    kind: "failure",
    reason: "backlog_full",
    detail: "as much as may wait for the partner waits already, nothing was sent",
    timings: { totalMs: 0 },
  };
  const settlement: Settlement = { kind: "dead", reason: outcome.reason };
  const record = attemptRecord({ item, partner, startedAtMs: endedAtMs, outcome, settlement, pod: context.podId });
  const ended = { item, partner, state: "dead", reason: outcome.reason, endedAtMs, attempts: [record], body } as const;
  const answer = await untilAnswered(() => context.deadLetters.append(deadLetter(ended)), { signal });
  if (answer.kind === "refused") {
    return false;
  }
  const text = JSON.stringify(record);
  await untilAnswered(() => context.attempts.append(item.tenant, eventHash(item.eventId), text), { signal });
  context.metrics.deadLetters.inc({ state: "dead", reason: outcome.reason });
  return true;
}
