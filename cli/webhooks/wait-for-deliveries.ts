import { setTimeout as sleep } from "node:timers/promises";
import type { ApiConnection } from "../api/connection.ts";
import { send } from "../api/request.ts";
import { progressBar, type Progress } from "../api/terminal.ts";
import { eventPath, type EventHistory } from "./event-forms.ts";

interface WaitOptions {
  readonly timeoutMs: number;
  readonly progress: Progress;
}

interface Waited {
  readonly history: EventHistory;
  /** The response with the history. */
  readonly body: Buffer;
  /** False when the time ended before the deliveries. */
  readonly isSettled: boolean;
}

const settled: readonly string[] = ["delivered", "rejected", "dead", "not_routed"];
const failed: readonly string[] = ["rejected", "dead"];
const pollMsMin = 100;
const pollMsMax = 2_000;

/** True when a delivery ended without success. */
export function hasFailed({ deliveries }: Pick<EventHistory, "deliveries">): boolean {
  return deliveries.some(({ state }) => failed.includes(state));
}

/** Reads the history of an event until all its deliveries have ended, or the time has. */
export async function waitForDeliveries(
  connection: ApiConnection,
  eventId: string,
  { timeoutMs, progress }: WaitOptions,
): Promise<Waited> {
  const endMs = performance.now() + timeoutMs;
  for (let pollMs = pollMsMin; ; pollMs = Math.min(pollMs * 2, pollMsMax)) {
    const { body } = await send(connection, { path: eventPath(eventId) });
    const history = JSON.parse(body.toString()) as EventHistory;
    const { deliveries } = history;
    const done = deliveries.filter(({ state }) => settled.includes(state)).length;
    progress.show(`${progressBar(done, deliveries.length)} deliveries`);
    // Before the event is routed, the history holds the deliveries to come. Without any, no partner wants the event.
    const isSettled = done === deliveries.length;
    if (isSettled || performance.now() + pollMs > endMs) {
      progress.clear();
      return { history, body, isSettled };
    }
    await sleep(pollMs);
  }
}
