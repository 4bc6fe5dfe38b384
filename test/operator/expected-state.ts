import { compile } from "../../crds/compile/compile.ts";
import { uidOf } from "../../crds/compile/origin.ts";
import { type ConfigPart, partsOf } from "../../crds/part.ts";
import { lastGoodMsDefault } from "../../crds/compile/last-good.ts";
import type { ResourceResult } from "../../crds/compile/resource-result.ts";
import { allowAll } from "../../crds/policy.ts";
import type { Resource } from "../../crds/resource.ts";
import type { PartnerConfig, RuntimeConfig } from "../../crds/config.ts";
import { WaitingSince } from "../../crds/compile/waiting-since.ts";
import { joinShards } from "../../crds/shards/join-shards.ts";
import { splitIntoShards } from "../../crds/shards/split-shards.ts";
import { readShardSecret, resourceKey, type Shard, shardNames, shardSecretType } from "../../crds/shards/shards.ts";
import { kindsInOrder, resourceTypes, type ResourceObject, type SecretObject } from "../../operator/resource-types.ts";
import { secretType } from "../../kube/client/resource.ts";
import { waitFor } from "../support/wait.ts";
import { counts, type OperatorCluster } from "./operator-cluster.ts";

/** What an operator makes of a namespace, or ought to. */
export interface State {
  /** Base64 of each shard's bytes, by the name of its Secret. */
  readonly shards: Readonly<Record<string, string>>;
  /** By `<Kind>/<namespace>/<name>`: observed generation, and each condition's type, status, reason and generation. */
  readonly statuses: Readonly<Record<string, string>>;
}

interface Known {
  readonly resources: readonly Resource[];
  readonly results: readonly ResourceResult[];
  readonly parts: ReadonlyMap<string, ConfigPart>;
}

/** Adds the partners without a part, and since when partners wait, which the published shards say. */
function withPublished(config: RuntimeConfig, { resources, results, parts }: Known): RuntimeConfig {
  const reasonOf = new Map(results.map(({ uid, accepted }) => [uid, accepted.reason]));
  const lastOf = ({ uid }: { readonly uid: string }) => parts.get(uid)?.config as PartnerConfig | undefined;
  const noted = new WaitingSince().note(config, lastOf, Date.now());
  const applied = new Set(noted.partners.map(({ uid }) => uid));
  const partners = resources
    .filter((resource) => resource.kind === "WebhookPartner" && !applied.has(uidOf(resource)))
    .map((resource) => ({ ...resource.metadata, uid: uidOf(resource), reason: reasonOf.get(uidOf(resource)) ?? "" }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return partners.length === 0 ? noted : { ...noted, notApplied: { partners, isPartial: false } };
}

/**
 * What `compile` says of the objects that are there now, and of what is in force, all of it without the operator's own
 * code: published again it stays the same.
 */
export async function expectedState(cluster: OperatorCluster, namespace: string): Promise<State> {
  const objects = await objectsOf(cluster, namespace);
  const secrets = await secretsOf(cluster, namespace);
  const entries = new Map(
    secrets
      .filter(({ type }) => type !== shardSecretType)
      .map(({ metadata, data }) => [`${namespace}/${metadata.name}`, data ?? {}]),
  );
  const resources = objects.map(({ kind, apiVersion, metadata, spec }) => ({
    kind,
    apiVersion,
    metadata,
    spec,
  })) as unknown as Resource[];
  const parts = partsIn(secrets);
  const before = {
    partOf: (resource: Resource) => parts.get(uidOf(resource)),
    nowMs: Date.now(),
    lastGoodMs: lastGoodMsDefault,
  };
  const { config: compiled, results } = compile({ resources, secrets: entries, policy: allowAll, before });
  const config = withPublished(compiled, { resources, results, parts });
  const shards = splitIntoShards(config, counts, tokenOf(secrets));
  const resultOf = new Map(results.map((result) => [resourceKey(result.kind, result), result]));
  return {
    shards: Object.fromEntries(
      [...shards].map(([name, { bytes }]) => [`heliograph-${name}`, Buffer.from(bytes).toString("base64")]),
    ),
    statuses: Object.fromEntries(
      objects.map((object) => [keyOf(object), expectedStatus(object, resultOf.get(keyOf(object)), config)]),
    ),
  };
}

/** What is there now. */
export async function actualState(cluster: OperatorCluster, namespace: string): Promise<State> {
  const secrets = (await secretsOf(cluster, namespace)).filter(({ type }) => type === shardSecretType);
  return {
    shards: Object.fromEntries(
      secrets.map(({ metadata, data }) => [metadata.name ?? "", data?.["shard.json.gz"] ?? ""]),
    ),
    statuses: Object.fromEntries(
      (await objectsOf(cluster, namespace)).map((object) => [keyOf(object), statusText(object)]),
    ),
  };
}

/** Waits until what is there is what ought to be, and answers it. */
export async function settledState(cluster: OperatorCluster, namespace: string, timeoutMs: number): Promise<State> {
  return await waitFor(
    async () => {
      const [expected, actual] = [await expectedState(cluster, namespace), await actualState(cluster, namespace)];
      const different = differences(expected, actual);
      if (different.length > 0) throw new Error(different.slice(0, 3).join("; "));
      return actual;
    },
    { timeoutMs, pollMs: 100, what: `${namespace} to be as compile says` },
  );
}

function differences(expected: State, actual: State): readonly string[] {
  const parts = ["shards", "statuses"] as const;
  return parts.flatMap((part) => {
    const names = new Set([...Object.keys(expected[part]), ...Object.keys(actual[part])]);
    const wrong = [...names].filter((name) => expected[part][name] !== actual[part][name]);
    return wrong.map((name) =>
      part === "shards" ? `${name} has other bytes` : `${name} is ${actual[part][name]}, not ${expected[part][name]}`,
    );
  });
}

function expectedStatus(
  { metadata: { generation, uid }, spec }: ResourceObject,
  result: ResourceResult | undefined,
  config: RuntimeConfig,
): string {
  if (result === undefined) return "no result";
  const { accepted, resolvedRefs, lastGood } = result;
  const inForce = generationInForce(config, uid);
  const programmed = programmedReason(result, inForce);
  const conditions = [
    ["Accepted", accepted.status, accepted.reason, generation],
    ["ResolvedRefs", resolvedRefs.status, resolvedRefs.reason, generation],
    ["Programmed", programmed === "Programmed", programmed, inForce ?? generation],
  ] as const;
  const fault = conditions.find(([, status]) => !status)?.[2];
  const reason = accepted.status && lastGood !== undefined ? "UsingLastGood" : fault;
  const ready = ["Ready", fault === undefined, reason ?? goodReason(spec), generation] as const;
  const passing = reason === undefined ? [] : [[passingType(fault), true, reason, generation] as const];
  const isAmbiguous = result.ambiguousKeys.length > 0;
  const warning = isAmbiguous ? [["SigningKeysUnambiguous", false, "UnprefixedKey", generation] as const] : [];
  const texts = [...conditions, ready, ...passing, ...warning, ...undeclaredOf(result, generation)].map(
    ([type, status, why, of]) => `${type}=${status ? "True" : "False"}/${why}@${of}`,
  );
  return [generation, ...texts].join(" ");
}

function generationInForce(
  { partners, catalogs, quotas, eventCatalogs = [] }: RuntimeConfig,
  uid: string | undefined,
): number | undefined {
  return [...partners, ...catalogs, ...quotas, ...eventCatalogs].find((one) => one.uid === uid)?.generation;
}

function undeclaredOf({ unresolvedTypes, keptFields }: ResourceResult, generation: number | undefined) {
  if (keptFields !== undefined) return [["TypesResolved", false, "ClassNotDeclared", generation] as const];
  return unresolvedTypes === undefined ? [] : [["TypesResolved", false, "TypeNotDeclared", generation] as const];
}

function passingType(fault: string | undefined): "Stalled" | "Reconciling" {
  return ["Invalid", "Conflicted", "SharedSigningKey"].includes(fault ?? "") ? "Stalled" : "Reconciling";
}

/** Of a `Ready` that is True. */
function goodReason(spec: ResourceObject["spec"]): string {
  return "state" in spec && spec.state === "Paused" ? "Paused" : "Ready";
}

function programmedReason({ held }: ResourceResult, inForce: number | undefined): string {
  if (held !== undefined) return "Held";
  return inForce === undefined ? "NotInForce" : "Programmed";
}

function statusText({ status }: ResourceObject): string {
  const texts = (status?.conditions ?? []).map(
    (one) => `${one.type}=${one.status}/${one.reason}@${one.observedGeneration}`,
  );
  return [status?.observedGeneration, ...texts].join(" ");
}

async function objectsOf(cluster: OperatorCluster, namespace: string): Promise<readonly ResourceObject[]> {
  const lists = await Promise.all(
    kindsInOrder.map(async (kind) => {
      const { items } = await cluster.client.list<ResourceObject>(resourceTypes[kind], { namespace });
      return items.map((item) => ({ ...item, kind }));
    }),
  );
  return lists.flat();
}

async function secretsOf(cluster: OperatorCluster, namespace: string): Promise<readonly SecretObject[]> {
  return (await cluster.client.list<SecretObject>(secretType, { namespace })).items;
}

/** What the shards hold of each resource, by uid; nothing before all of them are there. */
function partsIn(secrets: readonly SecretObject[]): ReadonlyMap<string, ConfigPart> {
  return partsOf(joinShards(shardNames(counts).flatMap((name) => shardIn(secrets, name) ?? [])).config);
}

function tokenOf(secrets: readonly SecretObject[]): string | undefined {
  const shard = shardIn(secrets, "keys-00");
  return shard !== undefined && "material" in shard ? shard.configzToken : undefined;
}

function shardIn(secrets: readonly SecretObject[], name: string): Shard | undefined {
  const secret = secrets.find(({ metadata }) => metadata.name === `heliograph-${name}`);
  if (secret === undefined) return undefined;
  const { annotations = {} } = secret.metadata;
  const reading = readShardSecret(
    { metadata: { annotations: { ...annotations } }, ...(secret.data === undefined ? {} : { data: secret.data }) },
    name,
    counts,
  );
  return reading.error === undefined ? reading.shard : undefined;
}

function keyOf({ kind, metadata }: ResourceObject): string {
  return resourceKey(kind, metadata);
}
