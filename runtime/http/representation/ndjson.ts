/** The usual name; no name is registered. */
export const ndjsonMediaType = "application/x-ndjson";

/**
 * Writes each item of the list on a line, then all other members on a last line. A reader with the last line has the
 * whole list.
 * @param list name of the member that is the list
 */
export function ndjsonOf(body: Readonly<Record<string, unknown>>, list: string): string {
  const { [list]: items, ...rest } = body;
  const lines: readonly unknown[] = Array.isArray(items) ? items : [];
  return [...lines, rest].map((line) => `${JSON.stringify(line)}\n`).join("");
}
