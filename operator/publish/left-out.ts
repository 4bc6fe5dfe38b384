import { byText } from "../../crds/compile/canonical-json.ts";
import { uidOf } from "../../crds/compile/origin.ts";
import type { ResourceResult } from "../../crds/compile/resource-result.ts";
import type { RuntimeConfig } from "../../crds/config.ts";
import type { Resource } from "../../crds/resource.ts";

/** The configuration with the partners that exist and have no part in it, so that pods do not take them for removed. */
export function withLeftOut(
  config: RuntimeConfig,
  all: readonly Resource[],
  results: readonly ResourceResult[],
): RuntimeConfig {
  const applied = new Set(config.partners.map(({ uid }) => uid));
  const missing = all.filter((one) => one.kind === "WebhookPartner" && !applied.has(uidOf(one)));
  if (missing.length === 0) return config;
  const reasons = new Map(results.map(({ uid, accepted }) => [uid, accepted.reason]));
  const partners = missing.map((resource) => {
    const uid = uidOf(resource);
    const { namespace, name } = resource.metadata;
    return { uid, namespace, name, reason: reasons.get(uid) ?? "NothingPublished" };
  });
  const sorted = partners.toSorted((a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name));
  return { ...config, notApplied: { partners: sorted, isPartial: false } };
}
