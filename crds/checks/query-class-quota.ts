import type {
  QueryClassQuotaCache,
  QueryClassQuotaClient,
  QueryClassQuotaPerMetric,
} from "../types/query-class-quota.ts";
import { rulesAt, unless, type PlacedRule } from "./cel-rule.ts";

/** The CEL rules of QueryClassQuota. */
export const queryClassQuotaRules: readonly PlacedRule[] = [
  ...rulesAt<readonly QueryClassQuotaClient[]>("spec.clients", [
    { message: "each clientId appears once", faults: (clients) => unless(eachOnce(clients, "clientId")) },
    { message: "each scope appears once", faults: (clients) => unless(eachOnce(clients, "scope")) },
  ]),
  ...rulesAt<QueryClassQuotaClient>("spec.clients[]", [
    {
      message: "a client has either a clientId or a scope",
      faults: ({ clientId, scope }) => unless((clientId === undefined) !== (scope === undefined)),
    },
  ]),
  ...rulesAt<QueryClassQuotaCache>("spec.cache", [
    {
      message: "hotTailSeconds is at most memorySeconds",
      faults: ({ memorySeconds, hotTailSeconds }) =>
        unless(memorySeconds === undefined || hotTailSeconds === undefined || hotTailSeconds <= memorySeconds),
    },
  ]),
  ...rulesAt<QueryClassQuotaPerMetric>("spec.perMetric[]", [
    {
      message: "a metric has requestsPerSecond or costUnitsPerMinute",
      faults: ({ requestsPerSecond, costUnitsPerMinute }) =>
        unless(requestsPerSecond !== undefined || costUnitsPerMinute !== undefined),
    },
  ]),
];

function eachOnce(clients: readonly QueryClassQuotaClient[], key: "clientId" | "scope"): boolean {
  const values = clients.flatMap((client) => client[key] ?? []);
  return new Set(values).size === values.length;
}
