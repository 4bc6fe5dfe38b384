import type { QueryParameters } from "./query-flags.ts";

/** A command line of curl that sends the same request. The token stays in its file or in the environment. */
export function curlOf(url: string, query: QueryParameters, tokenFile: string | undefined): string {
  const target = new URL(`${url}/v1/metrics/query`);
  for (const [name, value] of Object.entries(query))
    for (const text of [value ?? []].flat()) target.searchParams.append(name, text);
  const token = tokenFile === undefined ? "$HELIOGRAPH_TOKEN" : `$(cat ${inShell(tokenFile)})`;
  return `curl -sS --fail-with-body -H "Authorization: Bearer ${token}" ${inShell(target.href)}\n`;
}

/** A word of a POSIX shell. */
function inShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
