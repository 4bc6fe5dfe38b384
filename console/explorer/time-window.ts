import type { QueryChange } from "../router/place.ts";

/** A window of the explorer, Unix milliseconds. */
export interface TimeWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The shortest window that a drag selects. */
const windowMsMin = 60_000;

/** The window of ISO times; undefined if one is not a time, or if they are in the wrong order. */
export function windowOf({ from, to }: { readonly from: string; readonly to: string }): TimeWindow | undefined {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  return fromMs < toMs ? { fromMs, toMs } : undefined;
}

/** The change of the address that shows a window. A window shorter than a minute is widened to one. */
export function windowChange({ fromMs, toMs }: TimeWindow): QueryChange {
  const spanMs = Math.max(toMs - fromMs, windowMsMin);
  const startMs = Math.round((fromMs + toMs - spanMs) / 2);
  const iso = (ms: number): string => new Date(ms).toISOString();
  return { from: iso(startMs), to: iso(startMs + spanMs), range: null, page: null };
}

/** The window moved by its length. @param direction -1 is earlier. A window never ends after now. */
export function moveWindow({ fromMs, toMs }: TimeWindow, direction: -1 | 1, nowMs: number): TimeWindow {
  const spanMs = toMs - fromMs;
  const endMs = Math.min(toMs + direction * spanMs, nowMs);
  return { fromMs: endMs - spanMs, toMs: endMs };
}

/** The middle half of the window; the same one if it is too short to draw less. */
export function narrowWindow({ fromMs, toMs }: TimeWindow): TimeWindow {
  const cutMs = (toMs - fromMs) / 4;
  return cutMs < 1_000 ? { fromMs, toMs } : { fromMs: fromMs + cutMs, toMs: toMs - cutMs };
}

/** The window at twice its length around the same middle, at most up to now. */
export function widenWindow({ fromMs, toMs }: TimeWindow, nowMs: number): TimeWindow {
  const spanMs = toMs - fromMs;
  const endMs = Math.min(toMs + spanMs / 2, nowMs);
  return { fromMs: endMs - 2 * spanMs, toMs: endMs };
}
