import type {
  QueryClassQuotaCache,
  QueryClassQuotaClient,
  QueryClassQuotaPerMetric,
} from "../types/query-class-quota.ts";
import { type PlacedRule, rule, rulesAt } from "./cel-rule.ts";

/** The CEL rules of QueryClassQuota. */
export const queryClassQuotaRules: readonly PlacedRule[] = [
  ...rulesAt<readonly QueryClassQuotaClient[]>("spec.clients", [
    rule("each clientId must be unique", (clients) => eachOnce(clients, "clientId")),
    rule("each scope must be unique", (clients) => eachOnce(clients, "scope")),
  ]),
  ...rulesAt<QueryClassQuotaClient>("spec.clients[]", [
    rule(
      "a client must have either a clientId or a scope",
      ({ clientId, scope }) => (clientId === undefined) !== (scope === undefined),
    ),
  ]),
  ...rulesAt<QueryClassQuotaCache>("spec.cache", [
    rule(
      "hotTailSeconds must be at most memorySeconds",
      ({ memorySeconds, hotTailSeconds }) =>
        memorySeconds === undefined || hotTailSeconds === undefined || hotTailSeconds <= memorySeconds,
    ),
  ]),
  ...rulesAt<QueryClassQuotaPerMetric>("spec.perMetric[]", [
    rule(
      "a metric requires requestsPerSecond or costUnitsPerMinute",
      ({ requestsPerSecond, costUnitsPerMinute }) =>
        requestsPerSecond !== undefined || costUnitsPerMinute !== undefined,
    ),
  ]),
];

function eachOnce(clients: readonly QueryClassQuotaClient[], key: "clientId" | "scope"): boolean {
  const values = clients.flatMap((client) => client[key] ?? []);
  return new Set(values).size === values.length;
}
