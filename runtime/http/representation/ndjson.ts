/** The usual name; none is registered. */
export const ndjsonMediaType = "application/x-ndjson";

/**
 * A body line by line: each item of its list as it stands there, then one line with all the rest, so that a reader who
 * gets that line knows that the list was whole.
 *
 * @param list name of the member that is the list
 */
export function ndjsonOf(body: Readonly<Record<string, unknown>>, list: string): string {
  const { [list]: items, ...rest } = body;
  const lines: readonly unknown[] = Array.isArray(items) ? items : [];
  return [...lines, rest].map((line) => `${JSON.stringify(line)}\n`).join("");
}
