import type { DeliveryHistory } from "../../api/histories.ts";

const sentences: Readonly<Record<string, string>> = {
  held: "The partner is held",
  paused: "The partner is paused",
  disabled: "The endpoint responded 410, which disabled the partner",
  keyless: "No signing key of the partner is valid now",
  circuit_open: "The circuit breaker of the partner is open",
  rate_limited: "A Retry-After of the partner pauses its deliveries",
};

/**
 * What keeps the partner of a delivery waiting; undefined when only the delivery itself waits.
 * @param waiting undefined from servers of earlier versions
 */
export function waitWhy(waiting: DeliveryHistory["waiting"] | undefined): string | undefined {
  if (waiting === undefined || waiting === null || !Object.hasOwn(sentences, waiting.kind)) return undefined;
  const showsReason = waiting.kind === "held" || waiting.kind === "circuit_open";
  return `${sentences[waiting.kind]}${showsReason && waiting.reason !== null ? `: ${waiting.reason}` : ""}`;
}
