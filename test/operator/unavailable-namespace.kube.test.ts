import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import type { PartnerConfig } from "../../crds/config.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/kube-error.ts";
import { stallMsMax, waitFor } from "../support/wait.ts";
import { asOperator, bind, grant, type Right, unbind } from "./documented-rights.ts";
import { OperatorCluster, type Replica } from "./operator-cluster.ts";
import type { TestPod } from "./test-pod.ts";
import { passThrough } from "./watched-client.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

const patience = { timeoutMs: 60_000 };
const editMsMax = 3_000;
const returnMsMax = 10_000;

/** An installation with the partner `acme` in one watched namespace and the quota `desk` in another. */
class Scene {
  readonly core: string;
  readonly shop: string;
  readonly other: string;
  readonly pod: TestPod;
  #replica: Replica;

  private constructor(core: string, shop: string, other: string, pod: TestPod, replica: Replica) {
    [this.core, this.shop, this.other, this.pod, this.#replica] = [core, shop, other, pod, replica];
  }

  static async open(): Promise<Scene> {
    const [core, shop, other] = [await cluster.namespace(), await cluster.namespace(), await cluster.namespace()];
    await grant(cluster, core, "installation");
    for (const namespace of [shop, other]) await grant(cluster, namespace, "watched");
    const pod = await cluster.pod(core, "rt-0");
    const scene = new Scene(core, shop, other, pod, await started(core, [shop, other], pod));
    await cluster.partner(shop, "acme", 1);
    await cluster.quota(other, "desk");
    await cluster.reason(shop, "WebhookPartner", "acme", "Ready", "Ready");
    await cluster.reason(other, "QueryClassQuota", "desk", "Ready", "Ready");
    pod.configsSeen = [];
    return scene;
  }

  async restart(watched: readonly string[] = [this.shop, this.other]): Promise<void> {
    await this.#replica.stop();
    this.#replica = await started(this.core, watched, this.pod);
  }

  acme(): PartnerConfig | undefined {
    return this.pod.config?.partners.find(({ name }) => name === "acme");
  }

  /** Configurations in which the partner could not be sent to. */
  gaps(): number {
    const isSent = ({ name, state, held }: PartnerConfig): boolean =>
      name === "acme" && state === "Active" && held === undefined;
    return (this.pod.configsSeen ?? []).filter(({ partners }) => !partners.some(isSent)).length;
  }

  /** Edits the quota of the other namespace; resolves with the time until the pod applies it, in milliseconds. */
  async editOther(maxSeries: number): Promise<number> {
    const startedMs = performance.now();
    await cluster.quota(this.other, "desk", { limits: { maxSeries } });
    await waitFor(() => this.pod.config?.quotas[0]?.limits.maxSeries === maxSeries, { ...patience, what: "the edit" });
    return performance.now() - startedMs;
  }

  /** Whether each watched namespace is available, by the metric. */
  async available(): Promise<Readonly<Record<string, string>>> {
    const text = await (await fetch(`${this.#replica.operator.metricsUrl}/metrics`)).text();
    const lines = text.matchAll(/^heliograph_watched_namespace_available\{watched_namespace="(.*)"\} (.*)$/gmu);
    return Object.fromEntries([...lines].map(([, namespace = "", value = ""]) => [namespace, value]));
  }

  async probes(): Promise<readonly [number, number, string]> {
    const [health, ready] = await Promise.all(
      ["healthz", "readyz"].map((path) => fetch(`${this.#replica.operator.metricsUrl}/${path}`)),
    );
    return [health?.status ?? 0, ready?.status ?? 0, (await ready?.text()) ?? ""];
  }

  async leads(): Promise<void> {
    await waitFor(() => this.#replica.operator.isLeader(), { ...patience, what: "the replica to lead" });
  }
}

async function started(core: string, watched: readonly string[], pod: TestPod): Promise<Replica> {
  return await cluster.replica(core, { access: asOperator(cluster), watched, runtime: { urls: [pod.url] } });
}

describe("a watched namespace whose RoleBinding is deleted", () => {
  test("keeps its partner over a restart, while another namespace is edited, and is followed again", async () => {
    const scene = await Scene.open();
    await unbind(cluster, scene.shop, "watched");
    await scene.restart();
    await scene.leads();
    expect(await scene.available()).toEqual({ [scene.shop]: "0", [scene.other]: "1" });
    const [health, ready, body] = await scene.probes();
    expect([health, ready]).toEqual([200, 200]);
    expect(body).toContain(`"watch":"webhookpartners in ${scene.shop}"`);

    const editMs = await scene.editOther(7);
    expect(editMs).toBeLessThan(editMsMax + stallMsMax);
    await cluster.put(scene.shop, "WebhookPartner", "acme", {
      "signing.keys[0].secretRef.name": "acme",
      "delivery.maxInFlight": 7,
    });
    await scene.editOther(8);
    expect(scene.acme()).toMatchObject({ generation: 1, state: "Active" });
    expect(Object.values(scene.pod.config?.material ?? {})).toEqual([Buffer.alloc(32, 1).toString("base64")]);

    const startedMs = performance.now();
    await bind(cluster, scene.shop, "watched");
    await waitFor(() => scene.acme()?.generation === 2, { ...patience, what: "the edit of the namespace" });
    const returnMs = performance.now() - startedMs;
    console.info(`edit of another namespace: ${Math.round(editMs)} ms, return: ${Math.round(returnMs)} ms`);
    expect(returnMs).toBeLessThan(returnMsMax + stallMsMax);
    await cluster.reason(scene.shop, "WebhookPartner", "acme", "Ready", "Ready");
    // The other kinds are listed again within their own waits.
    const isBack = async () => (await scene.available())[scene.shop] === "1";
    await waitFor(isBack, { ...patience, what: "every kind of the namespace" });
    expect([scene.gaps(), scene.pod.faultsSeen]).toEqual([0, []]);
  });

  test("keeps its partner when its watches end under a running operator, which writes no status there", async () => {
    const scene = await Scene.open();
    await unbind(cluster, scene.shop, "watched");
    await cluster.kube.stopServer();
    await cluster.kube.startServer();
    const isNoticed = async () => (await scene.available())[scene.shop] === "0";
    await waitFor(isNoticed, { ...patience, what: "the operator to notice" });
    expect((await scene.probes()).slice(0, 2)).toEqual([200, 200]);
    expect(await scene.editOther(7)).toBeLessThan(editMsMax + stallMsMax);
    expect([scene.acme()?.state, scene.gaps()]).toEqual(["Active", 0]);
    await bind(cluster, scene.shop, "watched");
    await waitFor(async () => !(await isNoticed()), { ...patience, what: "the namespace to be followed again" });
    await cluster.put(scene.shop, "WebhookPartner", "acme", {
      "signing.keys[0].secretRef.name": "acme",
      state: "Paused",
    });
    await cluster.reason(scene.shop, "WebhookPartner", "acme", "Ready", "Paused");
  });

  test("loses what was deleted meanwhile when it can be listed again, and not before", async () => {
    const scene = await Scene.open();
    await unbind(cluster, scene.shop, "watched");
    await scene.restart();
    await cluster.remove(scene.shop, "WebhookPartner", "acme");
    await scene.editOther(7);
    expect(scene.acme()).toMatchObject({ state: "Active" });
    await bind(cluster, scene.shop, "watched");
    await waitFor(() => scene.pod.config?.partners.length === 0, { ...patience, what: "the partner to go" });
    expect(scene.pod.config?.material).toEqual({});
  });

  test("loses its resources when it leaves the list of watched namespaces", async () => {
    const scene = await Scene.open();
    await unbind(cluster, scene.shop, "watched");
    await scene.restart([scene.other]);
    await waitFor(() => scene.pod.config?.partners.length === 0, { ...patience, what: "the partner to go" });
    expect(scene.pod.config?.quotas.length).toBe(1);
  });
});

describe("a watched namespace without the right to list its Secrets", () => {
  test("has its last good versions over a restart, and its resources are edited", async () => {
    const scene = await Scene.open();
    const isNoSecret = ({ resource }: Right): boolean => resource !== "secrets";
    await grant(cluster, scene.shop, "watched", isNoSecret);
    await scene.restart();
    await cluster.quota(scene.shop, "till");
    await cluster.reason(scene.shop, "WebhookPartner", "acme", "ResolvedRefs", "SecretNotReadable");
    const { message } = await cluster.reason(
      scene.shop,
      "WebhookPartner",
      "acme",
      "NamespaceWatched",
      "NamespaceUnavailable",
    );
    expect(message).toContain("cannot list resource");
    await waitFor(() => scene.pod.config?.quotas.length === 2, { ...patience, what: "the edit" });
    expect([scene.acme()?.state, scene.gaps()]).toEqual(["Active", 0]);
    await grant(cluster, scene.shop, "watched");
    await cluster.reason(scene.shop, "WebhookPartner", "acme", "Ready", "Ready");
    const isCleared = async () => {
      const { status } = await cluster.object(scene.shop, "WebhookPartner", "acme");
      return status?.conditions?.every(({ type }) => type !== "NamespaceWatched");
    };
    await waitFor(isCleared, { ...patience, what: "the condition to be cleared" });
  });
});

describe("a Secret whose reads hang", () => {
  test("delays an edit of another resource by less than three seconds, and only once", async () => {
    const [core, shop] = [await cluster.namespace(), await cluster.namespace()];
    const pod = await cluster.pod(core, "rt-0");
    let reads = 0;
    const wrapClient = (client: KubeClient): KubeClient => ({
      ...passThrough(client),
      get: async (type, ref, options) => {
        if (ref.name !== "stuck") return await client.get(type, ref, options);
        reads += 1;
        await sleep(options?.retry?.budgetMs ?? 60_000);
        throw new KubeError("transient", "no response");
      },
    });
    await cluster.replica(core, { watched: [shop], runtime: { urls: [pod.url] }, wrapClient });
    await cluster.partner(shop, "stuck", 1);
    await waitFor(() => reads === 1, { ...patience, what: "the read that hangs" });
    for (const [name, msMax] of [
      ["first", editMsMax],
      ["second", editMsMax / 2],
    ] as const) {
      const startedMs = performance.now();
      await cluster.quota(shop, name);
      await waitFor(() => pod.config?.quotas.some((quota) => quota.name === name), { ...patience, what: name });
      const tookMs = performance.now() - startedMs;
      console.info(`${name} edit beside a Secret whose reads hang: ${Math.round(tookMs)} ms`);
      expect(tookMs).toBeLessThan(msMax + stallMsMax);
    }
    expect(reads).toBe(1);
    await cluster.reason(shop, "WebhookPartner", "stuck", "Reconciling", "SecretNotReadable");
  });
});

test("a watched namespace that does not exist keeps nobody from leading", async () => {
  const [core, shop] = [await cluster.namespace(), await cluster.namespace()];
  await grant(cluster, core, "installation");
  await grant(cluster, shop, "watched");
  const pod = await cluster.pod(core, "rt-0");
  const watched = [shop, "absent"];
  const { operator } = await cluster.replica(core, {
    access: asOperator(cluster),
    watched,
    runtime: { urls: [pod.url] },
  });
  await cluster.quota(shop, "desk");
  await cluster.reason(shop, "QueryClassQuota", "desk", "Ready", "Ready");
  expect(operator.isLeader()).toBe(true);
});
