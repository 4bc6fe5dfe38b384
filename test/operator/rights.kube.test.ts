import { writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { endpointSliceType } from "../../operator/resource-types.ts";
import { type KubeObject, secretType } from "../../kube/client/resource.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { asOperator, grant, rights } from "./documented-rights.ts";
import { OperatorCluster, prefix, type Replica } from "./operator-cluster.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

const patience = { timeoutMs: 60_000 };
/** Takes the label of a shard away: the next leader no longer sees its Secret, and meets it when it writes. */
async function unlabel(namespace: string, shard: string): Promise<void> {
  const secret = await cluster.shardSecret(namespace, shard);
  await cluster.client.replace(secretType, { ...secret, metadata: { ...secret.metadata, labels: {} } });
}

const slice = (
  namespace: string,
  addresses: readonly (readonly [name: string, address: string, port: number])[],
): KubeObject =>
  ({
    metadata: {
      namespace,
      name: "heliograph-runtime-1",
      labels: { "kubernetes.io/service-name": "heliograph-runtime" },
    },
    addressType: "IPv4",
    ports: [{ name: "admin", port: addresses[0]?.[2] ?? 1 }],
    endpoints: addresses.map(([name, address]) => ({
      addresses: [address],
      conditions: { ready: true },
      targetRef: { kind: "Pod", name, namespace, uid: `uid-${name}` },
    })),
  }) as KubeObject;

/** An address of this machine that may stand in an EndpointSlice: loopback may not. */
const address = Object.values(networkInterfaces())
  .flatMap((all = []) => all)
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

function used(replicas: readonly Replica[], core: string): ReadonlyMap<string, ReadonlySet<string>> {
  const calls = replicas.flatMap(({ client }) => client.calls);
  const byPlace = calls.map(({ verb, resource, namespace }) => {
    const isInstallation = namespace === core && !resource.startsWith("heliograph.dev/");
    return [`${isInstallation ? "installation" : "watched"} ${resource}`, verb] as const;
  });
  const names = new Set(byPlace.map(([name]) => name));
  return new Map(
    [...names].map((name) => [name, new Set(byPlace.filter(([one]) => one === name).map(([, verb]) => verb))]),
  );
}

describe("the rights of the page", () => {
  test("suffice for everything that the operator does, and every one of them is used", async () => {
    const [core, shop, other] = [await cluster.namespace(), await cluster.namespace(), await cluster.namespace()];
    await grant(cluster, core, "installation");
    for (const namespace of [shop, other]) await grant(cluster, namespace, "watched");
    const access = asOperator(cluster);
    const pod = await cluster.pod(core, "rt-0", { host: "0.0.0.0" });
    await cluster.client.create(endpointSliceType, slice(core, [["rt-0", address ?? "192.0.2.1", pod.port]]));
    const service = { service: "heliograph-runtime", portName: "admin" };
    const runtime = address === undefined ? { urls: [pod.url] } : service;
    const first = await cluster.replica(core, {
      access,
      watched: [shop, other],
      runtime,
      counts: { config: 4, keys: 2 },
    });
    await waitFor(() => first.operator.isLeader(), { ...patience, what: "the replica to lead" });
    await waitFor(
      async () =>
        (await cluster.client.list(secretType, { namespace: core, labelSelector: `heliograph.dev/config=${prefix}` }))
          .items.length === 6,
      { ...patience, what: "all shards to be there" },
    );
    await first.stop();
    await unlabel(core, "config-00");
    const folder = await temporaryFolder("policy");
    const policy = { policyFile: join(folder.path, "policy.yaml"), policyConfigMap: "hg-policy" };
    const everything = { tenants: ["*"], producers: ["*"], storeHosts: ["*"], clients: ["*"] };
    await writeFile(policy.policyFile, JSON.stringify({ grants: [{ namespaces: ["*"], ...everything }] }));
    const replica = await cluster.replica(core, { access, watched: [shop, other], runtime, ...policy });
    await cluster.partner(shop, "acme", 1);
    await cluster.quota(other, "desk");
    await cluster.put(other, "MetricCatalog", "metrics");
    await cluster.put(other, "EventCatalog", "payouts");
    await cluster.reason(shop, "WebhookPartner", "acme", "Ready", "Ready");
    await cluster.reason(other, "QueryClassQuota", "desk", "Ready", "Ready");
    await cluster.reason(other, "MetricCatalog", "metrics", "Ready", "Ready");
    await cluster.reason(other, "EventCatalog", "payouts", "Ready", "Ready");
    await waitFor(async () => (await cluster.events(shop, "acme")).length > 0, { ...patience, what: "an event" });
    await waitFor(
      () => replica.client.calls.some(({ verb, resource }) => verb === "delete" && resource === "secrets"),
      { ...patience, what: "the surplus shard to go" },
    );

    await folder.remove();
    const seen = used([first, replica], core);
    const listed = new Map(
      rights.map(({ place, group, resource, verbs }) => [
        `${place} ${group === "" ? "" : `${group}/`}${resource}`,
        new Set(verbs),
      ]),
    );
    const withoutImplied = new Map(
      [...listed].map(([name, verbs]) => [name, name.endsWith("events.k8s.io/events") ? new Set(["patch"]) : verbs]),
    );
    if (address === undefined) withoutImplied.delete("installation discovery.k8s.io/endpointslices");
    expect(seen).toEqual(withoutImplied);
  });
});

describe.runIf(address !== undefined)("the pods of the runtime's Service", () => {
  test("are found by its ready endpoints, and one that goes is waited for no longer", async () => {
    const ns = await cluster.namespace();
    const [one, two] = [
      await cluster.pod(ns, "one", { host: "0.0.0.0" }),
      await cluster.pod(ns, "two", { host: "0.0.0.0" }),
    ];
    const slices = (pods: readonly (typeof one)[]) =>
      Promise.all(
        [one, two].map(async (pod) => {
          const wanted = slice(ns, pods.includes(pod) ? [[pod.name, address ?? "", pod.port]] : []);
          await cluster.client.apply(
            endpointSliceType,
            { ...wanted, metadata: { ...wanted.metadata, name: pod.name } },
            { fieldManager: "test", force: true },
          );
        }),
      );
    await slices([one, two]);
    await cluster.replica(ns, { runtime: { service: "heliograph-runtime", portName: "admin" } });
    await cluster.quota(ns, "desk");
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    two.freeze();
    await cluster.quota(ns, "desk", { class: "B" });
    expect((await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "PartiallyApplied")).message).toBe(
      "Generation 2 is not applied by two of 2 ready pods.",
    );
    await slices([one]);
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    await slices([]);
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "NoReadyPods");
    two.thaw();
    await slices([two]);
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  });
});

/** What the API server says of an object of somebody else's, or of nobody's. */
const unseen = { observedGeneration: 0, conditions: [{ type: "Ready", status: "Unknown", reason: "NoOperator" }] };

describe("what applies", () => {
  test("is in the namespaces listed, and in no others", async () => {
    const [core, shop, stranger] = [await cluster.namespace(), await cluster.namespace(), await cluster.namespace()];
    const pod = await cluster.pod(core, "rt-0");
    await cluster.replica(core, { watched: [core, shop], runtime: { urls: [pod.url] } });
    for (const namespace of [core, shop, stranger]) await cluster.quota(namespace, `desk-of-${namespace}`);
    for (const namespace of [core, shop])
      await cluster.reason(namespace, "QueryClassQuota", `desk-of-${namespace}`, "Ready", "Ready");
    expect(pod.config?.quotas.map(({ namespace }) => namespace)).toEqual([core, shop].toSorted());
    expect((await cluster.object(stranger, "QueryClassQuota", `desk-of-${stranger}`)).status).toMatchObject(unseen);
  });

  test("is in every namespace when all are watched, and what lacks the labels belongs to another installation", async () => {
    const [core, shop] = [await cluster.namespace(), await cluster.namespace()];
    const pod = await cluster.pod(core, "rt-0");
    await cluster.replica(core, { watched: "all", selector: "team=ours", runtime: { urls: [pod.url] } });
    const ours = { labels: { team: "ours" } };
    await cluster.quota(core, "a-desk", {}, ours);
    await cluster.quota(shop, "b-desk", {}, ours);
    await cluster.quota(shop, "c-desk", {}, { labels: { team: "theirs" } });
    await cluster.reason(core, "QueryClassQuota", "a-desk", "Ready", "Ready");
    await cluster.reason(shop, "QueryClassQuota", "b-desk", "Ready", "Ready");
    expect(pod.config?.quotas.map(({ name }) => name).toSorted()).toEqual(["a-desk", "b-desk"]);
    expect((await cluster.object(shop, "QueryClassQuota", "c-desk")).status).toMatchObject(unseen);
    await cluster.quota(shop, "b-desk", {}, { labels: { team: "theirs" } });
    await waitFor(() => pod.config?.quotas.length === 1, {
      ...patience,
      what: "the desk that went over to be forgotten",
    });
  });
});
