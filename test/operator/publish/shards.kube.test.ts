import { gunzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { shardAnnotations, shardOfResource, shardSecretName, shardSecretType } from "../../../crds/shards/shards.ts";
import { type SecretObject } from "../../../operator/resource-types.ts";
import { secretType } from "../../../kube/client/resource.ts";
import type { Kind } from "../../../crds/resource.ts";
import { KubeError } from "../../../kube/client/kube-error.ts";
import { stallMsMax, waitFor } from "../../support/wait.ts";
import { passThrough } from "../watched-client.ts";
import { counts, OperatorCluster, prefix, type Replica } from "../operator-cluster.ts";
import type { TestPod } from "../test-pod.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

const patience = { timeoutMs: 60_000 };
type Shards = Awaited<ReturnType<OperatorCluster["shards"]>>;

/** A namespace with one pod, a replica, and a quota and a partner that are Ready. */
async function installation(): Promise<{ ns: string; pod: TestPod; replica: Replica; shard: string }> {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  const replica = await cluster.replica(ns, { runtime: { urls: [pod.url] } });
  await cluster.quota(ns, "desk");
  await cluster.partner(ns, "acme", 1);
  await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
  return { ns, pod, replica, shard: shardOfResource("QueryClassQuota", { namespace: ns, name: "desk" }, counts) };
}

const bytesOf = (shards: Shards) => Object.fromEntries([...shards].map(([name, { bytes }]) => [name, bytes]));
const withoutGenerations = (shards: Shards) => {
  const texts = [...shards.values()].map(({ bytes }) => gunzipSync(Buffer.from(bytes, "base64")).toString());
  return texts.map((text) => text.replace(/"generation":\d+/gu, "").replace(/"\d+:[0-9a-f]{16}"/gu, ""));
};
const revisionsOf = (shards: Shards) => Object.fromEntries([...shards].map(([name, { revision }]) => [name, revision]));
const shardWrites = (replica: Replica) => replica.client.writes().filter(({ resource }) => resource === "secrets");

/** Waits until the shards hold these bytes again. */
async function restored(ns: string, bytes: Readonly<Record<string, string>>): Promise<Shards> {
  return await waitFor(
    async () => {
      const shards = await cluster.shards(ns);
      return JSON.stringify(bytesOf(shards)) === JSON.stringify(bytes) ? shards : undefined;
    },
    { ...patience, what: "the shards to be as they were" },
  );
}

describe("the shards", () => {
  test("are Secrets of a type of their own, labelled, with revision and hash, all of them from the start", async () => {
    const { ns } = await installation();
    const shards = await cluster.shards(ns);
    expect([...shards.keys()]).toEqual(["config-00", "config-01", "config-02", "keys-00", "keys-01"]);
    const secret = await cluster.shardSecret(ns, "keys-00");
    expect(secret).toMatchObject({
      type: shardSecretType,
      metadata: {
        labels: { "heliograph.dev/config": prefix, "app.kubernetes.io/managed-by": "heliograph-operator" },
        annotations: {
          [shardAnnotations.revision]: expect.stringMatching(/^\d+$/u),
          [shardAnnotations.sha256]: expect.stringMatching(/^[0-9a-f]{64}$/u),
        },
      },
    });
    expect(Object.keys(secret.data ?? {})).toEqual(["shard.json.gz"]);
  });

  test("change one by one, each revision by one, and a field changed and changed back leaves nothing but its generations", async () => {
    const { ns, pod, shard } = await installation();
    const before = await cluster.shards(ns);
    await cluster.quota(ns, "desk", { class: "B" });
    await waitFor(() => pod.config?.quotas[0]?.class === "B", { ...patience, what: "the edit to apply" });
    const between = await cluster.shards(ns);
    expect(revisionsOf(between)).toEqual({ ...revisionsOf(before), [shard]: (before.get(shard)?.revision ?? 0) + 1 });
    await cluster.quota(ns, "desk");
    await waitFor(() => pod.config?.quotas[0]?.class === "A", { ...patience, what: "the edit to be taken back" });
    expect(pod.config?.quotas[0]).toMatchObject({ generation: 3 });
    expect(withoutGenerations(await cluster.shards(ns))).toEqual(withoutGenerations(before));
  });

  test("are byte for byte what they were when a key is rotated there and back", async () => {
    const { ns, pod } = await installation();
    const before = await cluster.shards(ns);
    for (const byte of [2, 1]) {
      await cluster.secret(ns, "acme", { hmac: byte });
      const key = Buffer.alloc(32, byte).toString("base64");
      await waitFor(() => Object.values(pod.config?.material ?? {}).join() === key, {
        ...patience,
        what: `the key of ${byte}`,
      });
    }
    const after = await restored(ns, bytesOf(before));
    expect(revisionsOf(after)).not.toEqual(revisionsOf(before));
  });

  test("are not written when a replica starts on what is published already", async () => {
    const { ns, pod, replica } = await installation();
    const before = await cluster.shards(ns);
    await replica.stop();
    const next = await cluster.replica(ns, { runtime: { urls: [pod.url] } });
    await waitFor(() => next.operator.isLeader(), { ...patience, what: "the next replica to lead" });
    await cluster.quota(ns, "new");
    await cluster.reason(ns, "QueryClassQuota", "new", "Ready", "Ready");
    const shard = shardOfResource("QueryClassQuota", { namespace: ns, name: "new" }, counts);
    expect(shardWrites(next).map(({ name }) => name)).toEqual([shardSecretName(prefix, shard)]);
    const after = await cluster.shards(ns);
    expect(revisionsOf(after)).toEqual({ ...revisionsOf(before), [shard]: (before.get(shard)?.revision ?? 0) + 1 });
    expect(next.client.writes().filter(({ resource, name }) => resource.endsWith("/status") && name !== "new")).toEqual(
      [],
    );
  });
});

describe("a shard that somebody", () => {
  test("deletes is written again with the same bytes and the next revision", async () => {
    const { ns, shard } = await installation();
    const before = await cluster.shards(ns);
    for (const name of [shard, "keys-00"])
      await cluster.client.delete(secretType, { namespace: ns, name: shardSecretName(prefix, name) });
    const after = await restored(ns, bytesOf(before));
    expect(after.get(shard)?.revision).toBe((before.get(shard)?.revision ?? 0) + 1);
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  });

  const edits: ReadonlyArray<readonly [string, (secret: SecretObject) => SecretObject]> = [
    ["spoils", (secret) => ({ ...secret, data: { "shard.json.gz": Buffer.from("nonsense").toString("base64") } })],
    ["empties", (secret) => ({ ...secret, data: {} })],
    ["adds to", (secret) => ({ ...secret, data: { ...secret.data, more: "" } })],
    [
      "numbers anew",
      (secret) => ({
        ...secret,
        metadata: {
          ...secret.metadata,
          annotations: { ...secret.metadata.annotations, [shardAnnotations.sha256]: "00" },
        },
      }),
    ],
    ["takes the label from", (secret) => ({ ...secret, metadata: { ...secret.metadata, labels: {} } })],
    ["freezes and spoils", (secret) => ({ ...secret, immutable: true, data: { "shard.json.gz": "AAAA" } })],
  ];
  test.each(edits)("%s is put right", async (_what, edit) => {
    const { ns, shard } = await installation();
    const before = await cluster.shards(ns);
    const secret = await cluster.shardSecret(ns, shard);
    await cluster.client.replace(secretType, edit(secret));
    await waitFor(
      async () => {
        const after = await cluster.shardSecret(ns, shard);
        return Number(after.metadata.annotations?.[shardAnnotations.revision]) > (before.get(shard)?.revision ?? 0);
      },
      { ...patience, what: "the shard to be written again" },
    );
    await restored(ns, bytesOf(before));
    expect((await cluster.shardSecret(ns, shard)).metadata.labels).toMatchObject({ "heliograph.dev/config": prefix });
  });

  test("labels or annotates keeps what was added", async () => {
    const { ns, pod, shard } = await installation();
    const secret = await cluster.shardSecret(ns, shard);
    const metadata = { ...secret.metadata, labels: { ...secret.metadata.labels, backup: "yes" } };
    await cluster.client.replace(secretType, { ...secret, metadata });
    await cluster.quota(ns, "desk", { class: "B" });
    await waitFor(() => pod.config?.quotas[0]?.class === "B", { ...patience, what: "the edit to apply" });
    expect((await cluster.shardSecret(ns, shard)).metadata.labels).toMatchObject({ backup: "yes" });
  });
});

describe("shards that cannot be written", () => {
  const editMsMax = 3_000;
  const shardOf = (kind: Kind, namespace: string, name: string) => shardOfResource(kind, { namespace, name }, counts);
  /** A quota outside of the shard. */
  const outside = (ns: string, shard: string): string =>
    ["a", "b", "c", "d", "e", "f", "g"].find((name) => shardOf("QueryClassQuota", ns, name) !== shard) ?? "";

  /** Starts the replica anew; it cannot write Secrets of which the name matches, until it may. */
  async function restarted({ ns, pod, replica }: Awaited<ReturnType<typeof installation>>, broken: RegExp) {
    await replica.stop();
    const state = { isBroken: true };
    await cluster.replica(ns, {
      runtime: { urls: [pod.url] },
      wrapClient: (client) => ({
        ...passThrough(client),
        replace: (type, object, options) =>
          state.isBroken && broken.test(object.metadata.name ?? "")
            ? Promise.reject(new KubeError("forbidden", "no"))
            : client.replace(type, object, options),
      }),
    });
    return state;
  }

  const appliedMs = async (pod: TestPod, name: string): Promise<number> => {
    const startedMs = performance.now();
    const isApplied = () => pod.config?.quotas.some((quota) => quota.name === name);
    await waitFor(isApplied, { ...patience, what: "the shard that can be written" });
    return performance.now() - startedMs;
  };

  test("keep back no other shard, and are written when they can be", async () => {
    const place = await installation();
    const { ns, pod, shard } = place;
    const state = await restarted(place, new RegExp(`-${shard}$`, "u"));
    await cluster.quota(ns, "desk", { limits: { maxSeries: 7 } });
    const other = outside(ns, shard);
    await cluster.quota(ns, other);
    expect(await appliedMs(pod, other)).toBeLessThan(editMsMax + stallMsMax);
    const desk = () => pod.config?.quotas.find(({ name }) => name === "desk")?.limits.maxSeries;
    expect(desk()).not.toBe(7);
    state.isBroken = false;
    await waitFor(() => desk() === 7, { ...patience, what: "the shard that could not be written" });
  });

  test("of keys keep back only the resources that need them", async () => {
    const place = await installation();
    const { ns, pod } = place;
    const state = await restarted(place, /-keys-\d\d$/u);
    const key = (byte: number): string => Buffer.alloc(32, byte).toString("base64");
    await cluster.secret(ns, "acme", { hmac: 9 });
    const other = outside(ns, shardOf("WebhookPartner", ns, "acme"));
    await cluster.quota(ns, other);
    expect(await appliedMs(pod, other)).toBeLessThan(editMsMax + stallMsMax);
    expect(Object.values(pod.config?.material ?? {})).toEqual([key(1)]);
    state.isBroken = false;
    await waitFor(() => Object.values(pod.config?.material ?? {}).join() === key(9), {
      ...patience,
      what: "the new key",
    });
    expect(pod.faultsSeen).toEqual([]);
  });
});

describe("a number of shards", () => {
  test("that shrinks leaves no shard of the earlier number, and those that stay are for the new one", async () => {
    const { ns, replica } = await installation();
    await replica.stop();
    await cluster.replica(ns, { runtime: { urls: [] }, counts: { config: 1, keys: 1 } });
    const remaining = await waitFor(
      async () => {
        const { items } = await cluster.client.list<SecretObject>(secretType, {
          namespace: ns,
          labelSelector: `heliograph.dev/config=${prefix}`,
        });
        return items.length === 2 ? items : undefined;
      },
      { ...patience, what: "the surplus to go" },
    );
    expect(remaining.map(({ metadata }) => metadata.name)).toEqual(["heliograph-config-00", "heliograph-keys-00"]);
  });

  test("of another installation in the same namespace is left alone", async () => {
    const { ns } = await installation();
    const before = await cluster.shards(ns);
    const other = await cluster.replica(ns, {
      prefix: "other",
      counts: { config: 1, keys: 1 },
      selector: "team=other",
    });
    await waitFor(() => shardWrites(other).length === 2, { ...patience, what: "the other installation to publish" });
    expect(revisionsOf(await cluster.shards(ns))).toEqual(revisionsOf(before));
    expect(bytesOf(await cluster.shards(ns))).toEqual(bytesOf(before));
  });
});
