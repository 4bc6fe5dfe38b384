import type { PrometheusAnswer } from "./prometheus-api.ts";

/** Members of an answer that says that a part of its data is missing, or cut off. */
interface Reservations {
  readonly warnings?: readonly string[];
  readonly isPartial?: true;
}

/** The answer of a look-up. @param headers of the quotas. @default none */
export function success(
  data: unknown,
  headers: PrometheusAnswer["headers"] = {},
  reservations: Reservations = {},
): PrometheusAnswer {
  const { warnings = [], ...others } = reservations;
  const members = warnings.length === 0 ? others : { warnings, ...others };
  return { headers, body: { status: "success", data, ...members } };
}
