import type { Flag } from "../command-line/flag.ts";
import type { Given } from "../command-line/given.ts";
import { tenantFlag, type QueryParameters } from "./query-flags.ts";

/** Flags that become parameters of `GET /v1/metrics/slo`. */
export const sloFlags = [
  { name: "domain", value: "DOMAIN", help: "Only objectives of this domain." },
  tenantFlag,
  { name: "region", value: "REGION", help: "Only this region." },
  { name: "environment", value: "ENVIRONMENT", help: "Only this environment." },
] as const satisfies readonly Flag[];

export function sloParameters(given: Given, name: string | undefined): QueryParameters {
  const named = sloFlags.map((flag) => [flag.name, given.optional(flag.name)] as const);
  return { slo: name, ...Object.fromEntries(named) };
}
