import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { ReplaysStream } from "../../nats/streams/replays-stream.ts";
import type { SettledDelivery } from "../delivery/delivery-context.ts";
import type { Log } from "../log.ts";
import { settlementRow } from "../settlement/settlement-table.ts";

const giveUpAfterMs = 5_000;

/**
 * Counts the ended deliveries of a replay. After {@link giveUpAfterMs} the delivery continues without its count, and
 * the number is too low. Never rejects.
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
      await untilAnswered(() => replays.mark(replayId, mark, did), { giveUpAfterMs, signal });
    } catch (error) {
      log.warn({ err: error, replayId }, "end of a replayed delivery not counted");
    }
  };
}
