const secondLength = "2026-01-31T12:00:00".length;

/**
 * Creates the function that writes the time of a log line, as RFC 3339 in UTC with milliseconds. The text of a second
 * is made once, since a program writes thousands of lines in it.
 *
 * @param now Unix milliseconds, whole and not negative
 */
export function createLogTime(now: () => number): () => string {
  let [second, text] = [Number.NaN, ""];
  return () => {
    const atMs = now();
    const millisecond = atMs % 1_000;
    if (atMs - millisecond !== second) {
      second = atMs - millisecond;
      text = `,"time":"${new Date(second).toISOString().slice(0, secondLength)}.`;
    }
    return `${text}${String(millisecond).padStart(3, "0")}Z"`;
  };
}
