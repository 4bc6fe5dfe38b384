import { formatSeconds } from "../components/format.ts";
import { secondsOf } from "../explorer/explorer-query.ts";

/** A window of the API, such as `1008m`, as `16 h 48 min`. */
export function windowText(window: string): string {
  const seconds = secondsOf(window);
  return seconds === undefined ? window : formatSeconds(seconds);
}
