import type { PreviewedResources } from "../../api/previews.ts";
import { classDefaults } from "../../crds/compile/class-defaults.ts";
import type { RuntimeConfig } from "../../crds/config.ts";
import type { Resource } from "../../crds/resource.ts";
import { anyTenant } from "../webhooks/ids.ts";
import { editedConfig } from "./edited-config.ts";
import { createMatchChanges, noMatches, type RecordedEvent } from "./match-changes.ts";
import { matchEffect, type MatchEffect } from "./preview-job.ts";
import { resourceEffect } from "./preview-effect.ts";

/** The differences of two sets of resources, and of the routing of some events. */
export interface OfflinePreview {
  readonly resources: PreviewedResources;
  /** Null without events. */
  readonly events: MatchEffect | null;
}

const nothing: RuntimeConfig = { schema: 1, partners: [], catalogs: [], quotas: [], classDefaults, material: {} };

/** Compares two whole sets of resources, without a server. */
export async function previewOffline(
  before: readonly Resource[],
  after: readonly Resource[],
  events: AsyncIterable<RecordedEvent> | undefined,
): Promise<OfflinePreview> {
  const base = editedConfig(nothing, { resources: before, prune: true }).config;
  const edited = editedConfig(base, { resources: after, prune: true });
  const resources = resourceEffect(base, edited, { tenants: [anyTenant] });
  if (events === undefined) return { resources, events: null };
  const changes = createMatchChanges(base, edited.config, () => true);
  const tally = noMatches();
  for await (const event of events) {
    changes.take(event);
    changes.addTo(tally);
  }
  return { resources, events: matchEffect(tally) };
}
