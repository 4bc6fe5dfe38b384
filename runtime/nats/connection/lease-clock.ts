/**
 * Judges leases of messages and lanes at their use: how long JetStream may have waited for this process. Its time
 * passes as fast as the faster of two clocks, because a monotonic clock stands still while a machine is suspended.
 */
export type LeaseClock = ReturnType<typeof createLeaseClock>;

/** Shortest acknowledgement wait, below two seconds: messages of a lost pod may take all places of a partner. */
export const messageLeaseMs = 1_750;
/** Age at which this process stops to use the lease of a message: its last use still has to reach a partner. */
export const messageUseMs = 1_500;
/** Age of a heartbeat at which a pod counts as gone. Two lost heartbeats in a row are not enough. */
export const laneLeaseMs = 1_500;
/** Age at which this process stops to use the lease of its lanes. */
export const laneUseMs = 1_250;
/** The clocks may drift by this before it counts: both are read in whole milliseconds, and NTP slews one of them. */
const driftMsMax = 50;

const never = Number.NEGATIVE_INFINITY;

/**
 * @param wallNow Unix milliseconds, with steps
 * @param localNow monotonic milliseconds
 */
export function createLeaseClock(wallNow = Date.now, localNow = () => performance.now()) {
  let apartMs = wallNow() - localNow();
  let addedMs = 0;
  let [confirmedMs, storedMs, brokenMs] = [never, never, never];
  // `brokenMs`: when the last break had lasted too long.
  let lost = { fromMs: never, toMs: never };
  const nowMs = (): number => {
    const local = localNow();
    const movedMs = wallNow() - local - apartMs;
    if (Math.abs(movedMs) > driftMsMax) {
      // A wall clock that was set back hides how long the machine was suspended before.
      addedMs += movedMs > 0 ? movedMs : messageLeaseMs;
      apartMs += movedMs;
    }
    return local + addedMs;
  };
  const isBroken = (): boolean => nowMs() - confirmedMs >= laneUseMs;
  const confirm = (sentAtMs: number): void => {
    if (isBroken()) brokenMs = confirmedMs + laneUseMs;
    confirmedMs = Math.max(confirmedMs, sentAtMs);
  };
  return {
    /** Milliseconds; only differences have a meaning. */
    nowMs,
    /** Notes that the server answered what was sent at this time. What is read from now on was sent later. */
    confirm,
    /** Notes that JetStream stored what was sent at this time. It has read all that was sent before. */
    confirmStored: (sentAtMs: number) => {
      confirm(sentAtMs);
      storedMs = Math.max(storedMs, sentAtMs);
    },
    /** Greatest time of either confirmation. */
    confirmedMs: () => confirmedMs,
    /** True when JetStream has read what was sent at this time. */
    isStored: (sentAtMs: number) => sentAtMs <= storedMs && !(sentAtMs > lost.fromMs && sentAtMs <= lost.toMs),
    /** True when this process never stood still or was without the server for the lease of a lane since then. */
    isUnbrokenSince: (sinceMs: number) => !isBroken() && sinceMs >= brokenMs,
    /** Notes that the connection broke. What was sent since the last confirmation may be lost. */
    disconnect: () => {
      lost = { fromMs: storedMs, toMs: nowMs() };
    },
    /** Lets time pass that both clocks missed: JetStream measured more. */
    skip: (ms: number) => {
      addedMs += ms;
    },
  };
}
