import type { CatalogRules, RuleGroup } from "./slo-rules.ts";

/** The resource of the Prometheus operator with the alert rules of one catalog. */
export interface PrometheusRule {
  readonly apiVersion: "monitoring.coreos.com/v1";
  readonly kind: "PrometheusRule";
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: { readonly groups: readonly Pick<RuleGroup, "name" | "rules">[] };
}

const dayMs = 86_400_000;
/** What follows the name of the catalog in the name of the resource. */
export const ruleSuffix = "-slos";

/** The time for which rules are generated: rules of one day are equal, so only edits of resources change them. */
export function ruleDay(nowMs: number): number {
  return Math.floor(nowMs / dayMs) * dayMs;
}

/** The resource that `heliograph rules --output=prometheusrule` prints and the operator writes. */
export function prometheusRule({ namespace, name, groups }: CatalogRules): PrometheusRule {
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: `${name}${ruleSuffix}`, namespace },
    spec: { groups: groups.map((group) => ({ name: group.name, rules: group.rules })) },
  };
}
