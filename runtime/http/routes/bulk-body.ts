import type { BulkResponse, BulkResult } from "../../metrics/metrics-api.ts";
import { problemHeaders, problemOf } from "../server/problem.ts";

/** The body of a bulk: every query with the status, headers and body of a single request. */
export function bulkBody({ results, meta }: BulkResponse, correlationId: string): object {
  return { results: results.map((result) => resultBody(result, correlationId)), meta };
}

/** The JSON text of {@link bulkBody}. */
export async function bulkJson({ results, meta }: BulkResponse, correlationId: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const result of results)
    parts.push(Buffer.from(parts.length === 0 ? "" : ","), ...(await resultJson(result, correlationId)));
  return Buffer.concat([Buffer.from('{"results":['), ...parts, Buffer.from(`],"meta":${JSON.stringify(meta)}}`)]);
}

/** Uses the JSON bytes of a response where it has them, without another text. */
async function resultJson(result: BulkResult, correlationId: string): Promise<readonly Uint8Array[]> {
  const body = "response" in result ? await result.response.json?.() : undefined;
  if (body === undefined || !("response" in result))
    return [Buffer.from(JSON.stringify(resultBody(result, correlationId)))];
  const { status, headers } = result.response;
  const begin = JSON.stringify({ id: result.id, status, headers: lowercase(headers) });
  return [Buffer.from(`${begin.slice(0, -1)},`), body.subarray(1)];
}

function resultBody(result: BulkResult, correlationId: string): object {
  const { id, cost } = result;
  if ("response" in result) {
    const { status, headers, body } = result.response;
    return { id, status, headers: lowercase(headers), ...body };
  }
  const costHeader = cost === undefined ? {} : { "x-query-cost-estimate": String(cost) };
  const { error } = result;
  const headers = { ...lowercase(problemHeaders(error)), ...costHeader };
  return { id, status: error.status, headers, error: problemOf(error, correlationId) };
}

/** Header names in lower case, as HTTP clients show them. */
function lowercase(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
