import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { PublishResult } from "../../nats/messages/publish.ts";
import type { DeadLetterToStore } from "../../nats/streams/dead-letters-stream.ts";
import type { DeadLetterState } from "../settlement/settlement-table.ts";
import type { DeliveryContext } from "./delivery-context.ts";

/**
 * Appends a dead letter until JetStream responds, and counts it if it is new: a repeat by a worker or by another pod
 * finds it stored and counts nothing.
 *
 * @param onNew called once if it is new
 * @throws Unanswered when the process must end first
 */
export async function appendDeadLetter(
  context: DeliveryContext,
  deadLetter: DeadLetterToStore,
  state: DeadLetterState,
  onNew: () => void = () => undefined,
): Promise<PublishResult> {
  const { ending: signal, metrics } = context;
  let tries = 0;
  const append = (): Promise<PublishResult> => {
    tries += 1;
    return context.deadLetters.append(deadLetter);
  };
  const result = await untilAnswered(append, { signal });
  if (result.kind === "stored" || (result.kind === "duplicate" && tries > 1 && (await isOwn()))) {
    metrics.deadLetters.inc({ state, reason: deadLetter.reason });
    onNew();
  }
  return result;

  /** Whether an earlier try of this call stored it and only its response was lost. */
  async function isOwn(): Promise<boolean> {
    const { seq } = result as Extract<PublishResult, { kind: "duplicate" }>;
    const stored = await untilAnswered(() => context.deadLetters.at(seq), { signal });
    return stored !== undefined && Buffer.from(deadLetter.payload).equals(stored.data);
  }
}
