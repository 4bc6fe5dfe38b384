/** A word of a POSIX shell, whatever characters it has. */
export function inShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const token = `-H "Authorization: Bearer $HELIOGRAPH_TOKEN"`;

/** A command line for the same query. The token stays in the environment. @param accept @default JSON */
export function curlLine(url: string, accept?: string): string {
  const form = accept === undefined ? "" : ` -H ${inShell(`Accept: ${accept}`)}`;
  return `curl -sS --fail-with-body ${token}${form} ${inShell(url)}`;
}

/** A command line that queries Prometheus' API. */
export function promqlLine(origin: string, expression: string, times: Readonly<Record<string, string>>): string {
  const fields = Object.entries({ query: expression, ...times }).map(
    ([name, value]) => ` --data-urlencode ${inShell(`${name}=${value}`)}`,
  );
  const url = `${origin}/prometheus/api/v1/query_range`;
  return `curl -sS --fail-with-body ${token} -G${fields.join("")} ${inShell(url)}`;
}
