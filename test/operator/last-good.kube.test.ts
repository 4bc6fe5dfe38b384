import { type KubeObject, secretType } from "../../kube/client/resource.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PartnerConfig } from "../../crds/config.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { stallMsMax, waitFor } from "../support/wait.ts";
import { OperatorCluster, type Replica } from "./operator-cluster.ts";
import type { TestPod } from "./test-pod.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

const patience = { timeoutMs: 60_000 };
const grantMsMax = 5_000;
const configMapType = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps" };
const configMap = (namespace: string, text: string): KubeObject =>
  ({ metadata: { namespace, name: "hg-policy" }, data: { "policy.yaml": text } }) as KubeObject;
type Options = Parameters<OperatorCluster["replica"]>[1];

/** A partner in force in one pod, and every configuration that the pod applied since. */
class Scene {
  readonly ns: string;
  readonly pod: TestPod;
  #replica: Replica;

  private constructor(ns: string, pod: TestPod, replica: Replica) {
    this.ns = ns;
    this.pod = pod;
    this.#replica = replica;
  }

  static async open(options: Options = {}): Promise<Scene> {
    const ns = await cluster.namespace();
    const pod = await cluster.pod(ns, "rt-0");
    const scene = new Scene(ns, pod, await cluster.replica(ns, { runtime: { urls: [pod.url] }, ...options }));
    await cluster.partner(ns, "acme", 1);
    await scene.is("Ready", "Ready");
    pod.configsSeen = [];
    return scene;
  }

  async is(type: string, reason: string) {
    return await cluster.reason(this.ns, "WebhookPartner", "acme", type, reason);
  }

  async stop(): Promise<void> {
    await this.#replica.stop();
  }

  async restart(): Promise<void> {
    await this.stop();
    this.#replica = await cluster.replica(this.ns, { runtime: { urls: [this.pod.url] } });
  }

  async removeSecret(): Promise<void> {
    await cluster.client.delete(secretType, { namespace: this.ns, name: "acme" });
  }

  async partner(changes: Parameters<OperatorCluster["put"]>[3] = {}): Promise<void> {
    await cluster.put(this.ns, "WebhookPartner", "acme", { "signing.keys[0].secretRef.name": "acme", ...changes });
  }

  acme(): PartnerConfig | undefined {
    return this.pod.config?.partners.find(({ name }) => name === "acme");
  }

  /** Versions of the configuration in which the partner could not be sent to. */
  gaps(): number {
    const isSent = ({ name, state, held }: PartnerConfig): boolean =>
      name === "acme" && state === "Active" && held === undefined;
    return (this.pod.configsSeen ?? []).filter(({ partners }) => !partners.some(isSent)).length;
  }

  bytes(): readonly string[] {
    return Object.values(this.pod.config?.material ?? {});
  }
}

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString("base64");

describe("a partner in force", () => {
  test("whose Secret is deleted and recreated is in force all the time, with a condition and an event", async () => {
    const scene = await Scene.open();
    await scene.removeSecret();
    const { message } = await scene.is("Ready", "UsingLastGood");
    expect(message).toMatch(
      /That is generation 1, since \S+Z and until \S+Z at the latest\. .*the Secret \S+ does not exist/u,
    );
    await scene.is("Accepted", "Accepted");
    await scene.is("ResolvedRefs", "SecretNotFound");
    expect(scene.bytes()).toEqual([keyOf(1)]);
    await waitFor(async () => (await cluster.events(scene.ns, "acme")).includes("Warning UsingLastGood"), {
      ...patience,
      what: "the event",
    });
    await cluster.secret(scene.ns, "acme", { hmac: 2 });
    await scene.is("Ready", "Ready");
    await waitFor(() => scene.bytes().join() === keyOf(2), { ...patience, what: "the new key alone" });
    expect(scene.acme()).not.toHaveProperty("lastGoodSinceMs");
    expect([scene.gaps(), scene.pod.faultsSeen]).toEqual([0, []]);
  });

  test("whose Secret is away for an instant, again and again, never leaves the configuration", async () => {
    const scene = await Scene.open();
    for (let byte = 2; byte < 12; byte += 1) {
      await scene.removeSecret();
      await cluster.secret(scene.ns, "acme", { hmac: byte });
    }
    await waitFor(() => scene.bytes().join() === keyOf(11), { ...patience, what: "the last key" });
    await scene.is("Ready", "Ready");
    expect(scene.gaps()).toBe(0);
  });

  test("whose reference is misspelt stays as it was, with all that the edit changed besides left for later", async () => {
    const scene = await Scene.open();
    await scene.partner({ "signing.keys[0].secretRef.name": "typo", "delivery.maxInFlight": 7 });
    await scene.is("Ready", "UsingLastGood");
    expect(scene.acme()).toMatchObject({ generation: 1, delivery: { maxInFlight: 64 }, state: "Active" });
    await scene.partner({ "delivery.maxInFlight": 7 });
    await scene.is("Ready", "Ready");
    expect(scene.acme()).toMatchObject({ generation: 3, delivery: { maxInFlight: 7 } });
    expect(scene.gaps()).toBe(0);
  });

  test("stays in force over a restart of the operator without its Secret, since the same moment", async () => {
    const scene = await Scene.open();
    await scene.removeSecret();
    await scene.is("Ready", "UsingLastGood");
    await waitFor(() => scene.acme()?.lastGoodSinceMs, { ...patience, what: "the pod to know" });
    const { lastGoodSinceMs } = scene.acme() ?? {};
    await scene.restart();
    await cluster.quota(scene.ns, "other");
    await cluster.reason(scene.ns, "QueryClassQuota", "other", "Ready", "Ready");
    expect(scene.acme()).toMatchObject({ state: "Active", lastGoodSinceMs });
    await scene.restart();
    await cluster.secret(scene.ns, "acme", { hmac: 3 });
    await scene.is("Ready", "Ready");
    expect(scene.gaps()).toBe(0);
  });

  test("stays in force when the Secret goes while no operator runs", async () => {
    const scene = await Scene.open();
    await scene.stop();
    await scene.removeSecret();
    await scene.restart();
    await scene.is("Ready", "UsingLastGood");
    expect([scene.acme()?.state, scene.gaps()]).toEqual(["Active", 0]);
  });

  test("is held when its last good version is too old, and the bytes of its key leave the shards", async () => {
    const scene = await Scene.open({ lastGoodMs: 3_000 });
    await scene.removeSecret();
    await scene.is("Ready", "UsingLastGood");
    await scene.is("Programmed", "Held");
    await scene.is("Ready", "SecretNotFound");
    expect(scene.acme()).toMatchObject({ held: "unresolved", state: "Paused", signing: { keys: [] } });
    await waitFor(() => scene.bytes().length === 0, { ...patience, what: "the bytes to go" });
  });

  test("never signs with a key that its spec took out while the Secret is away", async () => {
    const scene = await Scene.open();
    const keys = [
      { id: "current", secretRef: { name: "acme", key: "hmac" } },
      { id: "old", secretRef: { name: "acme", key: "old" } },
    ];
    await cluster.secret(scene.ns, "acme", { hmac: 1, old: 2 });
    await scene.partner({ "signing.keys": keys });
    await waitFor(() => scene.bytes().length === 2, { ...patience, what: "both keys" });
    await scene.removeSecret();
    await scene.is("Ready", "UsingLastGood");
    await scene.partner({ "signing.keys": keys.slice(1) });
    await waitFor(() => scene.bytes().join() === keyOf(2), { ...patience, what: "the key that was taken out to go" });
    expect(scene.acme()?.signing.keys.map(({ id }) => id)).toEqual(["old"]);
    expect(scene.gaps()).toBe(0);
  });
});

describe("a partner whose right is withdrawn", () => {
  test("is held with its reason, and is in force again when the right comes back", async () => {
    const folder = await temporaryFolder("policy");
    const policyFile = join(folder.path, "policy.yaml");
    const grant = (tenant: string) =>
      writeFile(policyFile, JSON.stringify({ grants: [{ namespaces: ["*"], tenants: [tenant], producers: ["*"] }] }));
    await grant("lumen");
    const scene = await Scene.open({ policyFile });
    await grant("nova");
    await scene.is("Ready", "NotPermitted");
    await scene.is("Programmed", "Held");
    expect(scene.acme()).toMatchObject({
      held: "not_permitted",
      state: "Paused",
      subscriptions: [],
      withdrawn: [{ tenants: ["lumen"] }],
    });
    await grant("lumen");
    await scene.is("Ready", "Ready");
    expect(scene.acme()).toMatchObject({ state: "Active", subscriptions: [{ tenants: ["lumen"] }] });
    await folder.remove();
  });
});

describe("a partner without a right yet", () => {
  test("is Reconciling, and in force five seconds after the ConfigMap grants it, although the mount is old", async () => {
    const folder = await temporaryFolder("policy");
    const policyFile = join(folder.path, "policy.yaml");
    const policy = (tenant: string) =>
      JSON.stringify({ grants: [{ namespaces: ["*"], tenants: [tenant], producers: ["*"], clients: ["*"] }] });
    await writeFile(policyFile, policy("nova"));
    const ns = await cluster.namespace();
    const put = (tenant: string) =>
      cluster.client.apply(configMapType, configMap(ns, policy(tenant)), { fieldManager: "test", force: true });
    await put("nova");
    const pod = await cluster.pod(ns, "rt-0");
    await cluster.replica(ns, { runtime: { urls: [pod.url] }, policyFile, policyConfigMap: "hg-policy" });
    await cluster.partner(ns, "acme", 1);
    await cluster.reason(ns, "WebhookPartner", "acme", "Reconciling", "NotPermitted");
    const startedMs = performance.now();
    await put("lumen");
    await waitFor(() => pod.config?.partners[0]?.state === "Active", { ...patience, what: "the grant" });
    const grantMs = performance.now() - startedMs;
    console.info(`from the grant to the pod: ${Math.round(grantMs)} ms`);
    expect(grantMs).toBeLessThan(grantMsMax + stallMsMax);
    await cluster.client.delete(configMapType, { namespace: ns, name: "hg-policy" });
    await cluster.quota(ns, "desk");
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    expect(pod.config?.partners[0]?.state).toBe("Active");
    await folder.remove();
  });
});

describe("a catalog in force", () => {
  test("whose store's Secret goes stays as it was", async () => {
    const scene = await Scene.open();
    const store = {
      "stores[0].prometheus": { url: "https://eu.example", auth: { bearer: { secretRef: { name: "store" } } } },
    };
    await cluster.secret(scene.ns, "store", { token: "hush" });
    await cluster.put(scene.ns, "MetricCatalog", "metrics", store);
    await cluster.reason(scene.ns, "MetricCatalog", "metrics", "Ready", "Ready");
    await cluster.client.delete(secretType, { namespace: scene.ns, name: "store" });
    await cluster.reason(scene.ns, "MetricCatalog", "metrics", "Ready", "UsingLastGood");
    expect(scene.pod.config?.catalogs).toMatchObject([
      { name: "metrics", stores: [{ prometheus: { auth: { kind: "bearer" } } }, {}] },
    ]);
    expect(scene.bytes()).toContain(Buffer.from("hush").toString("base64"));
  });
});
