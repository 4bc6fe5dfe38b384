import type { CatalogConfig } from "../../crds/config.ts";
import type { GenerateRules, OwnedRules } from "../../operator/rules/decide-rule.ts";
import { prometheusRule, ruleSuffix } from "../../runtime/prometheus/prometheus-rule.ts";
import { needsTenant, sloRules, TenantError } from "../../runtime/prometheus/slo-rules.ts";

/** The rules that the operator writes: those that `heliograph rules --output=prometheusrule` prints. */
export function ownedRules({ mode, labels }: Pick<OwnedRules, "mode" | "labels">): OwnedRules {
  return { mode, labels, suffix: ruleSuffix, generate };
}

const generate: GenerateRules = (catalog, { tenants, dayMs }) => {
  if (tenants.length === 0 && needsTenant(catalog)) return { tenantFault: "The annotation is missing or empty." };
  try {
    return generated(catalog, tenants, dayMs);
  } catch (error) {
    if (error instanceof TenantError) return { tenantFault: error.message };
    throw error;
  }
};

function generated(catalog: CatalogConfig, tenants: readonly string[], nowMs: number): ReturnType<GenerateRules> {
  // Quotas are in the notes only.
  const rules = sloRules(catalog, { tenants, nowMs, isTenantMatched: true, quotas: [] });
  // As the API server stores it: without members that are undefined.
  const spec = JSON.parse(JSON.stringify(prometheusRule(rules).spec)) as object;
  const alerts = rules.groups.reduce((sum, group) => sum + group.rules.length, 0);
  return { spec, alerts, silencedUntilMs: rules.silencedUntilMs };
}
