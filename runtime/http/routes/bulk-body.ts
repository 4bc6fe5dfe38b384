import type { BulkAnswer, BulkResult } from "../../metrics/metrics-api.ts";
import { problemHeaders, problemOf } from "../problem.ts";

/** The body of a bulk: every query with the status, headers and body that it would have alone. Source: wire, "Bulk". */
export function bulkBody({ results, meta }: BulkAnswer, correlationId: string): object {
  return { results: results.map((result) => resultBody(result, correlationId)), meta };
}

function resultBody(result: BulkResult, correlationId: string): object {
  const { id, cost } = result;
  if ("answer" in result) {
    const { status, headers, body } = result.answer;
    return { id, status, headers: lowercase(headers), ...body };
  }
  const costHeader = cost === undefined ? {} : { "x-query-cost-estimate": String(cost) };
  const { refusal } = result;
  const headers = { ...problemHeaders(refusal), ...costHeader };
  return { id, status: refusal.status, headers, error: problemOf(refusal, correlationId) };
}

/** As a client reads the headers of an answer. */
function lowercase(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
