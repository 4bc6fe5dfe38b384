const pauseFirstMs = 250;
const pauseMaxMs = 5000;
/** A process that served this long started successfully. */
const steadyMs = 60_000;

/**
 * Pause before an ended process starts again: none after its first end, then twice the one before.
 * @param servedMs time for which it was ready; 0 when it never was
 * @param endsBefore ends in a row, each soon after its start
 */
export function restartPause(
  servedMs: number,
  endsBefore: number,
): { readonly pauseMs: number; readonly ends: number } {
  const ends = servedMs >= steadyMs ? 0 : endsBefore;
  const pauseMs = ends === 0 ? 0 : Math.min(pauseFirstMs * 2 ** (ends - 1), pauseMaxMs);
  return { pauseMs, ends: ends + 1 };
}
