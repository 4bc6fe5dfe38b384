import { byText } from "../compile/canonical-json.ts";
import { classDefaults } from "../compile/class-defaults.ts";
import type { CatalogConfig, PartnerConfig, ResourceConfig, RuntimeConfig } from "../config.ts";
import { materialIdsOf } from "../material.ts";
import type { Kind } from "../resource.ts";
import type { LeftOutPartner, Shard } from "./shards.ts";

/** A resource that is not applied as the shards contain it. */
interface ShardFault {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** The generation that is not applied. */
  readonly generation: number;
  readonly reason: "MaterialMissing" | "NotObeyable";
  readonly message: string;
}

/** The configuration of joined shards. */
interface JoinedShards {
  readonly config: RuntimeConfig;
  readonly faults: readonly ShardFault[];
  /** @see KeyShard.configzToken */
  readonly configzToken: string | undefined;
}

/**
 * Joins shards, in any order. A resource stays as it was in `previous`, material included, when its material has not
 * arrived or this version cannot read its shape. It is then reported, and left out when `previous` lacks it. One
 * resource never keeps another from being joined. Shards of two moments may meet for an instant: two catalogs can then
 * hold one metric, until the second shard arrives.
 */
export function joinShards(shards: readonly Shard[], previous?: RuntimeConfig): JoinedShards {
  const parts = shards.filter((shard) => "partners" in shard);
  const keys = shards.filter((shard) => "material" in shard);
  const arrived = new Map(keys.flatMap((shard) => Object.entries(shard.material)));
  const partners = parts
    .flatMap((part) => part.partners)
    .map((one) => joined("WebhookPartner", one, previous?.partners, arrived));
  const catalogs = parts
    .flatMap((part) => part.catalogs)
    .map((one) => joined("MetricCatalog", one, previous?.catalogs, arrived));
  const quotas = parts
    .flatMap((part) => part.quotas)
    .map((one) => joined("QueryClassQuota", one, previous?.quotas, arrived));
  const eventCatalogs = parts
    .flatMap((part) => (Array.isArray(part.eventCatalogs) ? part.eventCatalogs : []))
    .map((one) => joined("EventCatalog", one, previous?.eventCatalogs, arrived));
  const inForceTypes = eventCatalogs.flatMap((one) => one.config ?? []).sort(byName);
  const inForce = [...partners, ...catalogs].flatMap(({ config }) => config ?? []);
  const config: RuntimeConfig = {
    schema: 1,
    partners: partners.flatMap((one) => one.config ?? []).sort(byName),
    catalogs: catalogs.flatMap((one) => one.config ?? []).sort(byName),
    quotas: quotas.flatMap((one) => one.config ?? []).sort(byName),
    ...(inForceTypes.length === 0 ? {} : { eventCatalogs: inForceTypes }),
    classDefaults,
    material: materialOf(inForce, { ...previous?.material, ...Object.fromEntries(arrived) }),
  };
  const leftOut = parts.flatMap((part) => (Array.isArray(part.leftOut) ? part.leftOut : [])).filter(isNamed);
  const faults = [...partners, ...catalogs, ...quotas, ...eventCatalogs].flatMap(({ fault }) => fault ?? []);
  return {
    config: withLeftOut(config, leftOut),
    faults,
    configzToken: keys.find(({ configzToken }) => configzToken)?.configzToken,
  };
}

/** True for an entry in the form of this version. */
function isNamed(entry: unknown): entry is LeftOutPartner {
  const { uid, namespace, name, reason }: Partial<Record<string, unknown>> = Object(entry);
  return [uid, namespace, name, reason].every((text) => typeof text === "string");
}

function withLeftOut(config: RuntimeConfig, leftOut: readonly LeftOutPartner[]): RuntimeConfig {
  if (leftOut.length === 0) return config;
  const partners = leftOut.toSorted((a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name));
  return { ...config, notApplied: { partners, isPartial: false } };
}

interface Joined<Config> {
  readonly config: Config | undefined;
  readonly fault?: ShardFault;
}

function joined<Config extends ResourceConfig>(
  kind: Kind,
  config: Config,
  previous: readonly Config[] | undefined,
  arrived: ReadonlyMap<string, string>,
): Joined<Config> {
  const needed = neededBy(config);
  const missing = "ids" in needed ? needed.ids.filter((id) => !arrived.has(id)) : [];
  if ("ids" in needed && missing.length === 0) return { config };
  const { uid, ...origin } = originOf(config);
  // Without the digest: it would let a reader of the message try out weak passwords.
  const fault: ShardFault =
    "ids" in needed
      ? {
          kind,
          ...origin,
          reason: "MaterialMissing",
          message: `${missing.map((id) => id.replace(/@[^@]*$/u, "")).join(", ")} has not arrived`,
        }
      : { kind, ...origin, reason: "NotObeyable", message: `this version cannot read the resource: ${needed.error}` };
  return { config: previous?.find((earlier) => earlier.uid === uid), fault };
}

/** True for a resource of a shard that has a name and names its material, as later steps require. */
export function isReadable(config: ResourceConfig): boolean {
  return "ids" in neededBy(config);
}

/** Reads the material ids of a resource. Another version of the operator may have written any shape. */
function neededBy(config: ResourceConfig): { readonly ids: readonly string[] } | { readonly error: string } {
  try {
    const { uid, namespace, name, generation } = config;
    if ([uid, namespace, name].some((text) => typeof text !== "string") || !Number.isSafeInteger(generation))
      return { error: "it has no name" };
    const ids = materialIdsOf(config);
    return ids.every((id) => typeof id === "string")
      ? { ids }
      : { error: "it names material by something else than text" };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** As much of its name as can be read. */
function originOf(config: unknown): {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
} {
  const { uid, namespace, name, generation }: Partial<Record<string, unknown>> = Object(config);
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return {
    uid: text(uid),
    namespace: text(namespace),
    name: text(name),
    generation: Number.isSafeInteger(generation) ? Math.max(0, Number(generation)) : 0,
  };
}

function materialOf(
  inForce: readonly (PartnerConfig | CatalogConfig)[],
  known: RuntimeConfig["material"],
): RuntimeConfig["material"] {
  const ids = inForce.flatMap(materialIdsOf).filter((id) => Object.hasOwn(known, id));
  return Object.fromEntries(ids.map((id) => [id, known[id] ?? ""]));
}

function byName(one: ResourceConfig, other: ResourceConfig): number {
  return byText(one.namespace, other.namespace) || byText(one.name, other.name);
}
