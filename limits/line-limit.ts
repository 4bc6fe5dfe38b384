import { fullBucket, refilled, spent, type Rate } from "./token-bucket.ts";

/** Requests one line of a log. Returns the number of lines dropped before it; undefined when this line is dropped. */
type LineLimit = () => number | undefined;

/** Rate of log lines that callers cause, so that callers cannot fill a disk. */
const rate: Rate = { perSecond: 20, burst: 200 };

/** Creates a full limit. @param now Unix milliseconds */
export function createLineLimit(now: () => number): LineLimit {
  let bucket = fullBucket(rate, now());
  let dropped = 0;
  return () => {
    bucket = refilled(bucket, rate, now());
    if (bucket.tokens < 1) {
      dropped += 1;
      return undefined;
    }
    bucket = spent(bucket, 1);
    const before = dropped;
    dropped = 0;
    return before;
  };
}
