import { errorTable } from "../../errors/table.ts";
import type { Refusal } from "../../errors/refusal.ts";
import { inPromql } from "../../errors/promql-words.ts";

/** Paths whose errors have the form that Prometheus' HTTP API gives them. */
const prometheusPath = /^\/prometheus(?:[/?#]|$)/u;

/** Body of an error below `/prometheus`. Source: Prometheus, "HTTP API", format overview. */
interface PrometheusError {
  readonly status: "error";
  readonly errorType: string;
  readonly error: string;
  /** The row of `docs/reference/errors.md`. */
  readonly code: string;
}

/** True for a request target whose errors are {@link prometheusError}. */
export function isPrometheusTarget(target: string): boolean {
  return prometheusPath.test(target);
}

/**
 * The error of a refusal with its status. Clients of Prometheus read the bodies of 400, 422 and 503 only. Statuses of
 * HTTP and of its authentication stay as they are.
 */
export function prometheusError(refusal: Refusal): { readonly status: number; readonly body: PrometheusError } {
  const status = refusal.code === "result_too_large" ? 422 : (statuses[refusal.status] ?? refusal.status);
  const body = { status: "error", errorType: typeOf(status, refusal), error: textOf(refusal), code: refusal.code };
  return { status, body: { ...body, status: "error" } };
}

/** The message with the suggested step: clients show no other member and no header. */
function textOf({ message, suggestion }: Refusal): string {
  const text = inPromql(message);
  const step = suggestion?.step === undefined ? "" : `step=${suggestion.step}`;
  return text.includes(step) ? text : `${text}; the suggestion is ${step}`;
}

/** Missing rights and removed metrics are errors of the execution, failed stores make the service unavailable. */
const statuses: Readonly<Record<number, number>> = {
  403: 422,
  409: 422,
  410: 422,
  406: 400,
  415: 400,
  502: 503,
  504: 503,
};

function typeOf(status: number, { code }: Refusal): string {
  const named = types[status];
  if (code === "answer_timeout" || code === "store_timeout") return "timeout";
  return named ?? (errorTable[code].status >= 500 ? "internal" : "bad_data");
}

const types: Readonly<Record<number, string>> = {
  401: "unauthorized",
  404: "not_found",
  422: "execution",
  429: "too_many_requests",
  500: "internal",
  503: "unavailable",
};
