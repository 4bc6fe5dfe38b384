import { compile } from "../../crds/compile/compile.ts";
import type { Verdict } from "../../crds/compile/verdict.ts";
import { allowAll } from "../../crds/policy.ts";
import type { Resource } from "../../crds/resource.ts";
import { splitIntoShards } from "../../crds/shard-splitter.ts";
import { readShardSecret, resourceKey, shardSecretType } from "../../crds/shards.ts";
import { kindsInOrder, resourceTypes, secretType, type ResourceObject, type SecretObject } from "../../operator/resource-types.ts";
import { waitFor } from "../support/wait.ts";
import { counts, type OperatorCluster } from "./operator-cluster.ts";

/** What an operator makes of a namespace, or ought to. */
export interface State {
  /** Base64 of each shard's bytes, by the name of its Secret. */
  readonly shards: Readonly<Record<string, string>>;
  /** By `<Kind>/<namespace>/<name>`: observed generation, and each condition's type, status, reason and generation. */
  readonly statuses: Readonly<Record<string, string>>;
}

/** What `compile` says of the objects that are there now, all of it without the operator's own code. */
export async function expectedState(cluster: OperatorCluster, namespace: string): Promise<State> {
  const objects = await objectsOf(cluster, namespace);
  const secrets = await secretsOf(cluster, namespace);
  const entries = new Map(secrets.filter(({ type }) => type !== shardSecretType).map(({ metadata, data }) => [`${namespace}/${metadata.name}`, data ?? {}]));
  const resources = objects.map(({ kind, apiVersion, metadata, spec }) => ({ kind, apiVersion, metadata, spec })) as unknown as Resource[];
  const { config, verdicts } = compile({ resources, secrets: entries, policy: allowAll });
  const shards = splitIntoShards(config, counts, tokenOf(secrets));
  const verdictOf = new Map(verdicts.map((verdict) => [resourceKey(verdict.kind, verdict), verdict]));
  return {
    shards: Object.fromEntries([...shards].map(([name, { bytes }]) => [`heliograph-${name}`, Buffer.from(bytes).toString("base64")])),
    statuses: Object.fromEntries(objects.map((object) => [keyOf(object), expectedStatus(object, verdictOf.get(keyOf(object)))])),
  };
}

/** What is there now. */
export async function actualState(cluster: OperatorCluster, namespace: string): Promise<State> {
  const secrets = (await secretsOf(cluster, namespace)).filter(({ type }) => type === shardSecretType);
  return {
    shards: Object.fromEntries(secrets.map(({ metadata, data }) => [metadata.name ?? "", data?.["shard.json.gz"] ?? ""])),
    statuses: Object.fromEntries((await objectsOf(cluster, namespace)).map((object) => [keyOf(object), statusText(object)])),
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
    return wrong.map((name) => (part === "shards" ? `${name} has other bytes` : `${name} is ${actual[part][name]}, not ${expected[part][name]}`));
  });
}

function expectedStatus({ metadata: { generation } }: ResourceObject, verdict: Verdict | undefined): string {
  if (verdict === undefined) return "no verdict";
  const { accepted, resolvedRefs } = verdict;
  const isInForce = accepted.status && resolvedRefs.status;
  const conditions = [
    ["Accepted", accepted.status, accepted.reason],
    ["ResolvedRefs", resolvedRefs.status, resolvedRefs.reason],
    ["Programmed", isInForce, isInForce ? "Programmed" : "NotInForce"],
  ] as const;
  const fault = conditions.find(([, status]) => !status);
  const ready = ["Ready", fault === undefined, fault === undefined ? "Ready" : fault[2]] as const;
  const stalled = fault === undefined ? [] : [["Stalled", true, fault[2]] as const];
  const texts = [...conditions, ready, ...stalled].map(([type, status, reason]) => `${type}=${status ? "True" : "False"}/${reason}@${generation}`);
  return [generation, ...texts].join(" ");
}

function statusText({ status }: ResourceObject): string {
  const texts = (status?.conditions ?? []).map((one) => `${one.type}=${one.status}/${one.reason}@${one.observedGeneration}`);
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

function tokenOf(secrets: readonly SecretObject[]): string | undefined {
  const secret = secrets.find(({ metadata }) => metadata.name === "heliograph-keys-00");
  if (secret === undefined) return undefined;
  const { annotations = {} } = secret.metadata;
  const reading = readShardSecret({ metadata: { annotations: { ...annotations } }, ...(secret.data === undefined ? {} : { data: secret.data }) }, "keys-00", counts);
  return reading.error === undefined && "material" in reading.shard ? reading.shard.configzToken : undefined;
}

function keyOf({ kind, metadata }: ResourceObject): string {
  return resourceKey(kind, metadata);
}
