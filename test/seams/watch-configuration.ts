import { request } from "undici";
import type { EventCatalogConfig, PartnerConfig } from "../../crds/config.ts";
import type { ConfigzReport } from "../../crds/configz.ts";
import {
  readShardSecret,
  shardNames,
  shardSecretName,
  type ConfigShard,
  type Shard,
} from "../../crds/shards/shards.ts";
import { type SecretObject } from "../../operator/resource-types.ts";
import { secretType } from "../../kube/client/resource.ts";
import { counts, prefix } from "../operator/operator-cluster.ts";
import type { CatalogTimeline, SeenCatalog } from "./catalog-timeline.ts";
import { levelOf } from "./catalog-walk.ts";
import type { ClassifiedField } from "./contracts.ts";
import { systemNamespace, type Installation } from "./installation.ts";
import type { PartnerTimeline, RoutedPartners, Seen } from "./model.ts";
import { startLooking, type Looking } from "./looking.ts";

const requestMsMax = 1_000;

/** What is told of the state that every pod runs. */
interface Timelines {
  readonly partners: () => readonly PartnerTimeline[];
  readonly catalogs: readonly CatalogTimeline[];
}

/**
 * Polls the published shards and the reports of both pods, and gives each timeline the state that every pod runs. A
 * poll counts only if both pods run at least the revisions that were published before their responses.
 */
export function watchConfiguration(installation: Installation, { partners, catalogs }: Timelines): Looking {
  return startLooking(async () => {
    let published: Published;
    try {
      published = await readPublished(installation);
    } catch (error) {
      for (const timeline of [...partners(), ...catalogs]) timeline.interrupted();
      throw error;
    }
    const reports = await Promise.all(installation.pods.map(({ adminUrl }) => report(adminUrl, published.token)));
    if (!reports.every((one) => hasAll(one, published.revisions))) return;
    const nowMs = Date.now();
    const failing = new Set(
      reports.flatMap(({ errors }) => errors.map(({ namespace, name }) => `${namespace}/${name}`)),
    );
    for (const timeline of catalogs) timeline.observed(nowMs, published.catalogs.get(timeline.label));
    for (const timeline of partners())
      if (!failing.has(timeline.label)) timeline.observed(nowMs, published.partners.get(timeline.uid));
  });
}

interface Published {
  readonly partners: RoutedPartners;
  /** By `namespace/name`. */
  readonly catalogs: ReadonlyMap<string, SeenCatalog>;
  /** By shard name. */
  readonly revisions: ReadonlyMap<string, number>;
  readonly token: string;
}

async function readPublished({ cluster }: Installation): Promise<Published> {
  const { items } = await cluster.client.list<SecretObject>(secretType, { namespace: systemNamespace });
  const bySecret = new Map(items.map((secret) => [secret.metadata.name, secret]));
  const shards: Shard[] = [];
  const revisions = new Map<string, number>();
  for (const name of shardNames(counts)) {
    const { metadata, data } = bySecret.get(shardSecretName(prefix, name)) ?? { metadata: {} };
    const reading = readShardSecret(
      { metadata: { annotations: { ...metadata.annotations } }, ...(data === undefined ? {} : { data }) },
      name,
      counts,
    );
    if (reading.error !== undefined) throw new Error(`${name}: ${reading.error}`);
    shards.push(reading.shard);
    revisions.set(name, reading.revision);
  }
  const token = shards.flatMap((shard) => ("material" in shard ? (shard.configzToken ?? []) : []))[0] ?? "";
  return { partners: seenPartners(shards), catalogs: seenCatalogs(shards), revisions, token };
}

/** The partners of some shards, by uid. */
export function seenPartners(shards: readonly Shard[]): RoutedPartners {
  const partners = shards
    .filter((shard): shard is ConfigShard => "partners" in shard)
    .flatMap((shard) => shard.partners);
  return new Map(partners.map((partner) => [partner.uid, seenOf(partner)]));
}

function seenOf({ generation, subscriptions, signing, held, lastGoodSinceMs }: PartnerConfig): Seen {
  return {
    generation,
    subscription: {
      types: subscriptions.flatMap(({ types }) => types),
      tenants: subscriptions.flatMap(({ tenants }) => tenants),
      matchers: subscriptions.flatMap(({ selects }) => selects?.matchers ?? []),
      payload: subscriptions.flatMap(({ selects }) => selects?.payload ?? []),
    },
    keys: signing.keys.map(({ id }) => id),
    isPlain: held === undefined && lastGoodSinceMs === undefined,
  };
}

/** The catalogs of some shards that declare types, by `namespace/name`. */
function seenCatalogs(shards: readonly Shard[]): ReadonlyMap<string, SeenCatalog> {
  const present = catalogsOf(shards).filter(({ types }) => types.length > 0);
  return new Map(present.map((catalog) => [`${catalog.namespace}/${catalog.name}`, seenCatalog(catalog)]));
}

function seenCatalog({ uid, generation, types }: EventCatalogConfig): SeenCatalog {
  const facts = types.map(({ type, versions, sensitive }) => {
    const versionFacts = versions.map(
      ({ version, schema, sunsetAtMs }) =>
        [version, { level: levelOf(schema), ...(sunsetAtMs === undefined ? {} : { sunsetAtMs }) }] as const,
    );
    return [type, { versions: Object.fromEntries(versionFacts), sensitive }] as const;
  });
  return { uid, generation, facts: Object.fromEntries(facts) };
}

/** The fields of a type that some shards classify. */
export function seenFields(shards: readonly Shard[], type: string): readonly ClassifiedField[] {
  const all = catalogsOf(shards).flatMap(({ types, formerTypes = [] }) => [...types, ...formerTypes]);
  return all.flatMap((one) => (one.type === type ? one.sensitive : []));
}

function catalogsOf(shards: readonly Shard[]): readonly EventCatalogConfig[] {
  return shards.flatMap((shard) => ("partners" in shard ? (shard.eventCatalogs ?? []) : []));
}

async function report(adminUrl: string, token: string): Promise<ConfigzReport> {
  const headers = { authorization: `Bearer ${token}` };
  const { statusCode, body } = await request(`${adminUrl}/configz`, {
    headers,
    signal: AbortSignal.timeout(requestMsMax),
  });
  const response = (await body.json()) as ConfigzReport;
  if (statusCode !== 200) throw new Error(`${adminUrl}/configz answers ${statusCode}`);
  return response;
}

function hasAll({ ready, shards }: ConfigzReport, revisions: Published["revisions"]): boolean {
  return ready && [...revisions].every(([name, revision]) => (shards[name]?.revision ?? 0) >= revision);
}
