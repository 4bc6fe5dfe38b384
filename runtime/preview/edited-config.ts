// Preview of an edit: the effect of changed resources on recorded events, before they are applied.
import type { PreviewedResources } from "../../api/previews.ts";
import { compile } from "../../crds/compile/compile.ts";
import { compileEventCatalog } from "../../crds/compile/event-catalog.ts";
import { compileCatalog } from "../../crds/compile/catalog.ts";
import { originOf, uidOf } from "../../crds/compile/origin.ts";
import { compilePartner } from "../../crds/compile/partner.ts";
import { compileQuota } from "../../crds/compile/quota.ts";
import { lastGoodMsDefault } from "../../crds/compile/last-good.ts";
import type { RuntimeConfig } from "../../crds/config.ts";
import { partsOf, type ConfigPart } from "../../crds/part.ts";
import { allowAll } from "../../crds/policy.ts";
import { apiVersion, type Resource, type WebhookPartner } from "../../crds/resource.ts";

/** Resources that would replace those of the same kind, namespace and name. */
export interface Edit {
  readonly resources: readonly Resource[];
  /** True when objects that the edit does not name would be removed; otherwise they stay. */
  readonly prune: boolean;
}

/** The configuration after an edit. */
export interface EditedConfig {
  readonly config: RuntimeConfig;
  /** Resources that the operator would not apply. */
  readonly refused: PreviewedResources["refused"];
  /** `Kind/namespace/name` of objects that the edit does not name. */
  readonly unnamed: readonly string[];
}

/** Objects of a configuration are older than new ones, and keep their unique keys. */
const longAgo = new Date(0).toISOString();

/** The name of an object in reports: `Kind/namespace/name`. */
export function objectName(kind: string, { namespace, name }: { readonly namespace: string; readonly name: string }) {
  return `${kind}/${namespace}/${name}`;
}

/**
 * Compiles an edit on top of a configuration, by the compiler of the product. Secrets and the installation's policy are
 * not known here: every reference counts as readable, every name as permitted. Bytes of keys are those of the base.
 */
export function editedConfig(base: RuntimeConfig, { resources, prune }: Edit): EditedConfig {
  const parts = partsOf(base);
  const objects = [...parts.values()].filter((part) => part.kind !== "EventCatalog" || part.config.deleted !== true);
  const known = new Map(objects.map((part) => [objectName(part.kind, part.config), part]));
  const placed = resources.map((resource) => placedOver(resource, known));
  const named = new Set(placed.map(({ kind, metadata }) => objectName(kind, metadata)));
  const unnamed = [...known].filter(([object]) => !named.has(object));
  const kept = prune ? [] : unnamed.map(([, part]) => part);
  const held = new Map<Resource, ConfigPart>([
    ...placed.map((one) => [one, partOf(one, known.get(objectName(one.kind, one.metadata)))] as const),
    ...kept.map((part) => [emptyResource(part), part] as const),
  ]);
  const before = {
    partOf: (one: Resource) => parts.get(uidOf(one)),
    eventCatalogs: () => base.eventCatalogs ?? [],
    nowMs: 0,
    lastGoodMs: lastGoodMsDefault,
  };
  const { config, results } = compile({
    resources: [...held.keys()],
    secrets: new Map(),
    policy: allowAll,
    held,
    before,
  });
  const refused = results
    .filter(({ kind, accepted, ...origin }) => named.has(objectName(kind, origin)) && !accepted.status)
    .map(({ kind, accepted: { reason, message }, ...origin }) => ({
      object: objectName(kind, origin),
      reason,
      message,
    }));
  const waiting = [...held.values()].filter((part) => isLacking(part) && objects.includes(part));
  return { config: withKept(config, [...kept, ...waiting]), refused, unnamed: unnamed.map(([object]) => object) };
}

/** The resource with the identity of the object that it replaces. */
function placedOver(resource: Resource, known: ReadonlyMap<string, ConfigPart>): Resource {
  const { namespace, name } = resource.metadata;
  const replaced = known.get(objectName(resource.kind, resource.metadata));
  const identity = replaced === undefined ? {} : { uid: replaced.config.uid, creationTimestamp: longAgo };
  return { ...resource, metadata: { namespace, name, ...identity } };
}

function emptyResource({ kind, config: { uid, namespace, name } }: ConfigPart): Resource {
  const metadata = { uid, namespace, name, creationTimestamp: longAgo };
  return { apiVersion, kind, metadata, spec: {} } as unknown as Resource;
}

function partOf(resource: Resource, replaced: ConfigPart | undefined): ConfigPart {
  switch (resource.kind) {
    case "WebhookPartner":
      return partnerPart(resource, replaced);
    case "MetricCatalog":
      return { kind: resource.kind, config: compileCatalog(resource, []), material: {} };
    case "EventCatalog":
      return { kind: resource.kind, config: compileEventCatalog(resource), material: {} };
    case "QueryClassQuota":
      return { kind: resource.kind, config: compileQuota(resource), material: {} };
  }
}

/** Whether a partner is held for what no definition contains: a Secret, or a permission. */
function isLacking(part: ConfigPart): boolean {
  if (part.kind !== "WebhookPartner") return false;
  const { held } = part.config;
  return held !== undefined && held !== "conflicted";
}

/**
 * A key keeps its bytes while its id stays. A new key gets bytes that no other key has. A held partner whose definition
 * is the same stays held: what it lacks is not part of the definition.
 */
function partnerPart(resource: WebhookPartner, replaced: ConfigPart | undefined): ConfigPart {
  const last = replaced?.kind === "WebhookPartner" ? replaced : undefined;
  if (last?.config.held !== undefined && last.config.specDigest === originOf(resource).specDigest) return last;
  const keys = resource.spec.signing.keys.map(({ id }, index) => {
    const same = last?.config.signing.keys.find((key) => key.id === id)?.material;
    const material = same ?? `preview/${uidOf(resource)}/${index}`;
    const base64 = last?.material[material] ?? Buffer.from(material).toString("base64");
    return { index, material, base64, digest: "" };
  });
  const config = compilePartner(resource, keys, []);
  const lost = new Set((last?.config.withdrawn ?? []).map((subscription) => JSON.stringify(subscription)));
  const subscriptions = config.subscriptions.filter((subscription) => !lost.has(JSON.stringify(subscription)));
  const material = Object.fromEntries(keys.map((key) => [key.material, key.base64]));
  return { kind: "WebhookPartner", config: { ...config, subscriptions }, material };
}

/** Kept parts as they are: the compiler would apply the spec of a held one, which is not known here. */
function withKept(config: RuntimeConfig, kept: readonly ConfigPart[]): RuntimeConfig {
  const byUid = new Map(kept.map((part) => [part.config.uid, part.config]));
  const asKept = <C extends ConfigPart["config"]>(one: C): C => (byUid.get(one.uid) as C | undefined) ?? one;
  return {
    ...config,
    partners: config.partners.map(asKept),
    catalogs: config.catalogs.map(asKept),
    quotas: config.quotas.map(asKept),
    ...(config.eventCatalogs === undefined ? {} : { eventCatalogs: config.eventCatalogs.map(asKept) }),
  };
}
