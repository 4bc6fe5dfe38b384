import type { PreviewedResources } from "../../api/previews.ts";
import { digestOf } from "../../crds/compile/canonical-json.ts";
import type { RuntimeConfig } from "../../crds/config.ts";
import { resourcesOf } from "../../crds/part.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import { anyTenant } from "../webhooks/ids.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "../webhooks/history/history-view.ts";
import type { EditedConfig } from "./edited-config.ts";
import type { PreviewCaller, PreviewJob } from "./preview-job.ts";
import { payloadChanges, resourceChanges, type FieldChange } from "./resource-changes.ts";

/** Digest that changes with every applied spec, and with what replaces one. Generations do not count. */
export function configIdentity(config: RuntimeConfig): string {
  const parts = resourcesOf(config).map(({ uid, specDigest, ...rest }) => {
    const { held, lastGoodSinceMs } = rest as { readonly held?: unknown; readonly lastGoodSinceMs?: unknown };
    return [uid, specDigest, held ?? null, lastGoodSinceMs ?? null];
  });
  return digestOf(parts);
}

/** What effects are computed with. */
export interface EffectDeps {
  /** @default no queries are recorded */
  readonly judgeEdit?: MetricsApi["judgeEdit"] | undefined;
  /** @default usage is not shown */
  readonly removedUses?: MetricsApi["removedUses"] | undefined;
}

/** The effects of an edit that need no events. A caller that is narrowed to partners sees none on queries. */
export async function effectsOf(
  { judgeEdit, removedUses }: EffectDeps,
  base: RuntimeConfig,
  edited: EditedConfig,
  caller: PreviewCaller,
): Promise<Pick<PreviewJob, "effect" | "queries" | "readers">> {
  const effect = resourceEffect(base, edited, caller);
  const { client, tenants, metrics, seesAllUsage = false } = caller;
  if (metrics === undefined || isNarrowed(caller)) return { effect };
  const queries = await judgeEdit?.(base, edited.config, { tenants, metrics });
  const readers = await removedUses?.(base, edited.config, { client, tenants, metrics, seesAllUsage });
  return { effect, ...(queries && { queries }), ...(readers && { readers }) };
}

interface Access extends PartnerAccess {
  readonly tenants: readonly string[];
}

const partnerPrefix = "WebhookPartner/";

/**
 * The differences of resources that a caller may see. A caller of some tenants sees which fields differ, without their
 * values before the edit, since these may name other tenants.
 */
export function resourceEffect(base: RuntimeConfig, edited: EditedConfig, access: Access): PreviewedResources {
  const { added, removed, changed, unchanged } = resourceChanges(base, edited.config);
  const isVisible = (object: string): boolean =>
    !isNarrowed(access) ||
    (object.startsWith(partnerPrefix) && mayNamePartner(access, object.slice(partnerPrefix.length)));
  const isWhole = access.tenants.includes(anyTenant);
  const shown = ({ field, after, hidden = ["before"] }: FieldChange): FieldChange => ({
    field,
    ...(after === undefined ? {} : { after }),
    hidden,
  });
  return {
    added: added.filter(isVisible),
    removed: removed.filter(isVisible),
    changed: changed
      .filter(({ object }) => isVisible(object))
      .map(({ object, fields }) => ({ object, fields: isWhole ? fields : fields.map(shown) })),
    unchanged: isNarrowed(access) ? 0 : unchanged,
    refused: edited.refused.filter(({ object }) => isVisible(object)),
    unnamed: edited.unnamed.filter(isVisible),
    // A caller that is narrowed to partners learns nothing of fields that these do not get.
    payloads: isNarrowed(access) ? [] : payloadChanges(base, edited.config),
  };
}
