import { fullBucket, refilled, spent, type Rate } from "./token-bucket.ts";

/** Asks for room for one line: how many lines before it had none, or undefined when this one has none either. */
type LineLimit = () => number | undefined;

/** Lines of a log that others cause, on the whole and at once: they must not fill disks. */
const causedLinesRate: Rate = { perSecond: 20, burst: 200 };

/** @param now Unix milliseconds */
export function createLineLimit(now: () => number, rate = causedLinesRate): LineLimit {
  let room = fullBucket(rate, now());
  let leftOut = 0;
  return () => {
    room = refilled(room, rate, now());
    if (room.tokens < 1) {
      leftOut += 1;
      return undefined;
    }
    room = spent(room, 1);
    const before = leftOut;
    leftOut = 0;
    return before;
  };
}
