import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { ReplaysStream } from "../../nats/streams/replays-stream.ts";
import type { SettledDelivery } from "../delivery/delivery-context.ts";
import type { Log } from "../log.ts";
import { settlementRow } from "../settlement/settlement-table.ts";

const patienceMs = 5_000;

/**
 * Counts the ends of deliveries that belong to a replay. A count that cannot be stored holds no delivery up for longer
 * than its patience: the figure is then too low. Never rejects.
 */
export function createSettledCounter(
  replays: ReplaysStream,
  log: Log,
  signal: AbortSignal,
): (settled: SettledDelivery) => Promise<void> {
  return async ({ delivery: { replayId, did }, settlement }) => {
    const { replayMark: mark } = settlementRow(settlement);
    if (replayId === undefined || mark === undefined) {
      return;
    }
    try {
      await untilAnswered(() => replays.mark(replayId, mark, did), { giveUpAfterMs: patienceMs, signal });
    } catch (error) {
      log.warn({ err: error, replayId }, "the end of a replayed delivery is not counted");
    }
  };
}
