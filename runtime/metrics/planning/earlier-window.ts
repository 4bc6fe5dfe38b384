import { invalidField } from "../../errors/api-error.ts";
import { formatAlike, formatDuration } from "../request/time.ts";
import { niceStepsSeconds, type ResolvedWindow } from "../request/window.ts";

/**
 * The window that is some seconds earlier. The points of both windows are multiples of the step, so that both are read
 * and cached like any other window.
 *
 * @throws ApiError `invalid_compare`
 */
export function earlierWindow(window: ResolvedWindow, seconds: number): ResolvedWindow {
  const { stepSeconds } = window;
  if (seconds % stepSeconds !== 0) throw notAligned(seconds, stepSeconds);
  const [fromMs, toMs] = [window.fromMs - seconds * 1_000, window.toMs - seconds * 1_000];
  if (fromMs >= 0) return { ...window, fromMs, toMs };
  throw invalidField("invalid_compare", "compare", "the earlier window begins before 1970; use a shorter duration");
}

function notAligned(seconds: number, stepSeconds: number) {
  const [distance, own] = formatAlike(seconds, stepSeconds);
  const step = niceStepsSeconds.find((nice) => nice >= stepSeconds && seconds % nice === 0);
  const advice =
    step === undefined ? "use a longer one that is a multiple of the step" : `use step=${formatDuration(step)}`;
  const detail = `compare=${distance} is not a multiple of the step of ${own}, so no points align; ${advice}`;
  const more = step === undefined ? {} : { suggestion: { step: formatDuration(step) } };
  return invalidField("invalid_compare", "compare", detail, more);
}
