import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { byText } from "../../crds/compile/canonical-json.ts";
import { KubeError } from "../../kube/client/kube-error.ts";
import { resourceTypes, type ResourceObject } from "../../operator/resource-types.ts";
import { secretType } from "../../kube/client/resource.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { quickestMs, waitFor } from "../support/wait.ts";
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
/** From an edit until every pod applies it. */
const appliedMsMax = 3_000;
/** No state that passes by itself is written down, however slow the machine is. */
const patientTimes = { graceMs: 60_000, emptyGraceMs: 60_000, messageMs: 500 };

/** A namespace with one pod and a replica that observes it. */
async function installation(
  options: Parameters<OperatorCluster["replica"]>[1] = {},
): Promise<{ ns: string; pod: TestPod; replica: Replica }> {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  return { ns, pod, replica: await cluster.replica(ns, { runtime: { urls: [pod.url] }, ...options }) };
}

const statusWrites = (replica: Replica) =>
  replica.client.writes().filter(({ resource }) => resource.endsWith("/status")).length;

const published = (pod: TestPod, name: string) => pod.config?.partners.find((partner) => partner.name === name);

describe("an object", () => {
  test("that is made is Ready when every pod applies it, after two writes of its status, and an event tells so", async () => {
    const ns = await cluster.namespace();
    const [one, two] = [await cluster.pod(ns, "one"), await cluster.pod(ns, "two")];
    const replica = await cluster.replica(ns, { runtime: { urls: [one.url, two.url] } });
    await cluster.secret(ns, "acme", { hmac: 1 });
    await cluster.put(ns, "WebhookPartner", "acme", { "signing.keys[0].secretRef.name": "acme" });
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    for (const pod of [one, two]) expect(published(pod, "acme")).toMatchObject({ generation: 1 });
    const { status } = await cluster.object(ns, "WebhookPartner", "acme");
    expect(status?.observedGeneration).toBe(1);
    expect(status?.conditions?.map(({ type, status: held }) => `${type} ${held}`).toSorted()).toEqual([
      "Accepted True",
      "Programmed True",
      "Ready True",
      "ResolvedRefs True",
    ]);
    expect(statusWrites(replica)).toBeLessThanOrEqual(2);
    await waitFor(async () => (await cluster.events(ns, "acme")).includes("Normal Ready"), {
      ...patience,
      what: "the event",
    });
  });

  test("that is edited applies in every pod within three seconds, after one write of its status", async () => {
    const { ns, pod, replica } = await installation({ times: patientTimes });
    await cluster.partner(ns, "acme", 1);
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    const before = statusWrites(replica);
    let edits = 0;
    const appliedMs = await quickestMs(appliedMsMax, async (index) => {
      if (index > 0) await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
      edits += 1;
      await cluster.put(ns, "WebhookPartner", "acme", {
        "signing.keys[0].secretRef.name": "acme",
        "delivery.maxInFlight": 7 + index,
      });
      await waitFor(() => published(pod, "acme")?.delivery.maxInFlight === 7 + index, {
        ...patience,
        what: "the pod to apply",
      });
    });
    expect(appliedMs).toBeLessThan(appliedMsMax);
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    expect(statusWrites(replica) - before).toBe(edits);
  });

  test("that is deleted applies no more", async () => {
    const { ns, pod } = await installation();
    await cluster.partner(ns, "acme", 1);
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    await cluster.remove(ns, "WebhookPartner", "acme");
    await waitFor(() => pod.config?.partners.length === 0 && Object.keys(pod.config.material).length === 0, {
      ...patience,
      what: "the pod to forget it",
    });
    const { items } = await cluster.client.list<ResourceObject>(resourceTypes.WebhookPartner, { namespace: ns });
    expect(items).toEqual([]);
  });

  test("of each kind has the same conditions", async () => {
    const { ns, pod } = await installation();
    await cluster.put(ns, "MetricCatalog", "metrics");
    await cluster.quota(ns, "dashboards");
    await cluster.reason(ns, "MetricCatalog", "metrics", "Ready", "Ready");
    await cluster.reason(ns, "QueryClassQuota", "dashboards", "Ready", "Ready");
    expect([pod.config?.catalogs.length, pod.config?.quotas.length]).toEqual([1, 1]);
  });

  test("whose status somebody edits gets it back, and keeps conditions of others", async () => {
    const { ns } = await installation();
    await cluster.quota(ns, "desk");
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    const wrong = {
      type: "Ready",
      status: "False",
      reason: "Edited",
      message: "by hand",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const conditions = [wrong, { ...wrong, type: "Audited" }];
    const { metadata } = await cluster.object(ns, "QueryClassQuota", "desk");
    const edited = {
      metadata: { namespace: ns, name: "desk", uid: metadata.uid },
      status: { conditions },
    } as unknown as ResourceObject;
    await cluster.client.applyStatus(resourceTypes.QueryClassQuota, edited, { fieldManager: "somebody", force: true });
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    const { status } = await cluster.object(ns, "QueryClassQuota", "desk");
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Audited", reason: "Edited" }));
  });

  test("with something questionable is in force, with a warning about it", async () => {
    const { ns } = await installation();
    await cluster.partner(ns, "acme", 1, { "endpoint.url": "https://partner.example/hooks" });
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    const events = await waitFor(
      async () => {
        const seen = await cluster.events(ns, "acme");
        return seen.length >= 2 ? seen : undefined;
      },
      { ...patience, what: "both events" },
    );
    expect(events.toSorted(byText)).toEqual(["Normal Ready", "Warning Questionable"]);
  });

  test("that does not change is not written", async () => {
    const { ns, pod, replica } = await installation();
    for (const [index, name] of ["a", "b", "c"].entries()) await cluster.partner(ns, name, index + 1);
    for (const name of ["a", "b", "c"]) await cluster.reason(ns, "WebhookPartner", name, "Ready", "Ready");
    for (const name of ["a", "b", "c"])
      await waitFor(async () => (await cluster.events(ns, name)).length > 0, { ...patience, what: `event of ${name}` });
    const others = () => replica.client.writes().filter(({ resource }) => !resource.includes("leases"));
    const before = others().length;
    // Not a wait for something to happen: that nothing does can only be seen by letting time pass.
    const [leases, polls] = [replica.client.writes().length, pod.polls];
    await waitFor(() => replica.client.writes().length >= leases + 15, {
      ...patience,
      what: "fifteen renewals of the lease",
    });
    expect(others().slice(before)).toEqual([]);
    expect(pod.polls - polls).toBeLessThanOrEqual(1);
  });
});

describe("a Secret", () => {
  test("that is missing, comes, lacks the entry, is too short, is rotated and goes applies each time", async () => {
    const { ns, pod } = await installation();
    const is = (type: string, reason: string) => cluster.reason(ns, "WebhookPartner", "acme", type, reason);
    await cluster.put(ns, "WebhookPartner", "acme", { "signing.keys[0].secretRef.name": "acme" });
    expect((await is("Ready", "SecretNotFound")).message).toContain(`the Secret ${ns}/acme does not exist`);
    await is("Programmed", "Held");
    expect(published(pod, "acme")).toMatchObject({ held: "unresolved", state: "Paused", signing: { keys: [] } });
    await cluster.secret(ns, "acme", { other: 1 });
    await is("ResolvedRefs", "SecretKeyMissing");
    await cluster.secret(ns, "acme", { hmac: "short" });
    await is("ResolvedRefs", "KeyTooShort");
    await cluster.secret(ns, "acme", { hmac: 5 });
    await is("Ready", "Ready");

    const appliedMs = await quickestMs(appliedMsMax, async (index) => {
      await cluster.secret(ns, "acme", { hmac: 6 + index });
      const key = Buffer.alloc(32, 6 + index).toString("base64");
      await waitFor(() => Object.values(pod.config?.material ?? {}).includes(key), {
        ...patience,
        what: "the new key",
      });
    });
    expect(appliedMs).toBeLessThan(appliedMsMax);
    await is("Ready", "Ready");
    expect(published(pod, "acme")?.generation).toBe(1);
    await waitFor(() => Object.keys(pod.config?.material ?? {}).length === 1, {
      ...patience,
      what: "the old key to go",
    });

    await cluster.client.delete(secretType, { namespace: ns, name: "acme" });
    await is("Ready", "UsingLastGood");
    await is("ResolvedRefs", "SecretNotFound");
    await is("Programmed", "Programmed");
    await is("Reconciling", "UsingLastGood");
  });

  test("that cannot be read keeps a partner as it was, with a condition, and is read when it can be", async () => {
    let forbidden = "";
    const ns = await cluster.namespace();
    const pod = await cluster.pod(ns, "rt-0");
    const wrapClient: NonNullable<Parameters<OperatorCluster["replica"]>[1]>["wrapClient"] = (client) => ({
      ...passThrough(client),
      get: (type, ref, options) =>
        ref.name === forbidden ? Promise.reject(new KubeError("forbidden", "no")) : client.get(type, ref, options),
    });
    const first = await cluster.replica(ns, { runtime: { urls: [pod.url] } });
    await cluster.partner(ns, "acme", 1);
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    await first.stop();
    forbidden = "acme";
    await cluster.replica(ns, { runtime: { urls: [pod.url] }, wrapClient });
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "UsingLastGood");
    await cluster.reason(ns, "WebhookPartner", "acme", "ResolvedRefs", "SecretNotReadable");
    await cluster.reason(ns, "WebhookPartner", "acme", "Reconciling", "UsingLastGood");
    await cluster.reason(ns, "WebhookPartner", "acme", "Programmed", "Programmed");
    expect(published(pod, "acme")).toMatchObject({ generation: 1 });
    forbidden = "";
    await cluster.secret(ns, "acme", { hmac: 2 });
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    expect(Object.values(pod.config?.material ?? {})).toEqual([Buffer.alloc(32, 2).toString("base64")]);
  });
});

describe("two objects with one unique key", () => {
  test("leave it to the older, and to the younger when the older gives it up", async () => {
    const { ns, pod } = await installation();
    await cluster.put(ns, "MetricCatalog", "a-elder");
    await cluster.reason(ns, "MetricCatalog", "a-elder", "Ready", "Ready");
    await cluster.put(ns, "MetricCatalog", "b-younger");
    const conflict = await cluster.reason(ns, "MetricCatalog", "b-younger", "Ready", "Conflicted");
    expect(conflict.message).toContain(`the metric cpu_util belongs to MetricCatalog ${ns}/a-elder, which is older`);
    expect(pod.config?.catalogs.map(({ name }) => name)).toEqual(["a-elder"]);
    await cluster.put(ns, "MetricCatalog", "a-elder", { "metrics[0].id": "another", schemaVersion: "2026-02" });
    await cluster.reason(ns, "MetricCatalog", "b-younger", "Ready", "Ready");
    await cluster.put(ns, "MetricCatalog", "a-elder", { schemaVersion: "2026-03" });
    await cluster.reason(ns, "MetricCatalog", "a-elder", "Ready", "Ready");
    await cluster.reason(ns, "MetricCatalog", "b-younger", "Ready", "Conflicted");
    await cluster.remove(ns, "MetricCatalog", "a-elder");
    await cluster.reason(ns, "MetricCatalog", "b-younger", "Ready", "Ready");
    await waitFor(() => pod.config?.catalogs.map(({ name }) => name).join() === "b-younger", {
      ...patience,
      what: "the pod to take it back",
    });
  });

  test("do so with the bytes of a signing key (Webhook Event Delivery §5.4)", async () => {
    const { ns } = await installation();
    await cluster.partner(ns, "a-elder", 9);
    await cluster.partner(ns, "b-younger", 9);
    await cluster.reason(ns, "WebhookPartner", "b-younger", "Ready", "SharedSigningKey");
    await cluster.secret(ns, "a-elder", { hmac: 8 });
    const { status } = await cluster.reason(ns, "WebhookPartner", "b-younger", "Ready", "Ready");
    expect(status).toBe("True");
  });
});

describe("pods", () => {
  test("that are behind are named, and the object is Ready when they have caught up", async () => {
    const ns = await cluster.namespace();
    const [one, two] = [await cluster.pod(ns, "one"), await cluster.pod(ns, "two")];
    await cluster.replica(ns, { runtime: { urls: [one.url, two.url] } });
    await cluster.quota(ns, "desk");
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    two.freeze();
    await cluster.quota(ns, "desk", { class: "B" });
    const { message } = await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "PartiallyApplied");
    expect(message).toBe(`Generation 2 is not applied by 127.0.0.1:${two.port} of 2 ready pods.`);
    await cluster.reason(ns, "QueryClassQuota", "desk", "Reconciling", "PartiallyApplied");
    two.thaw();
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  });

  test("that do not answer keep what is new from being Programmed, not what is known", async () => {
    const { ns, pod } = await installation();
    await cluster.quota(ns, "known");
    await cluster.reason(ns, "QueryClassQuota", "known", "Ready", "Ready");
    pod.deafen();
    await cluster.quota(ns, "new");
    const { message } = await cluster.reason(ns, "QueryClassQuota", "new", "Programmed", "PartiallyApplied");
    expect(message).toContain("(no response)");
    await cluster.reason(ns, "QueryClassQuota", "known", "Ready", "Ready");
    pod.hear();
    await cluster.reason(ns, "QueryClassQuota", "new", "Ready", "Ready");
  });

  test("that there are none of leave nothing Programmed", async () => {
    const ns = await cluster.namespace();
    await cluster.replica(ns, { runtime: { urls: [] } });
    await cluster.quota(ns, "desk");
    const { status } = await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "NoReadyPods");
    expect(status).toBe("False");
  });

  test("that cannot apply an object say why", async () => {
    const { ns, pod } = await installation();
    pod.report({
      errors: [
        {
          kind: "QueryClassQuota",
          namespace: ns,
          name: "desk",
          generation: 1,
          reason: "Broken",
          message: "it does not compile",
        },
      ],
    });
    await cluster.quota(ns, "desk");
    const { message } = await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "RuntimeError");
    expect(message).toMatch(/has not applied generation 1: Broken: it does not compile$/u);
    pod.report({ errors: [] });
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  });

  test("that disabled a partner after a 410 keep it from being Ready until it is edited (Webhook Event Delivery §7)", async () => {
    const { ns, pod } = await installation();
    await cluster.partner(ns, "acme", 1);
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    const { uid } = (await cluster.object(ns, "WebhookPartner", "acme")).metadata;
    pod.report({
      marks: [
        {
          kind: "WebhookPartner",
          namespace: ns,
          name: "acme",
          uid,
          generation: 1,
          reason: "PartnerDisabled",
          message: "it answered 410",
          since: "2026-01-01T00:00:00Z",
        },
      ],
    });
    expect((await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "PartnerDisabled")).message).toBe(
      "it answered 410",
    );
    await cluster.reason(ns, "WebhookPartner", "acme", "Programmed", "Programmed");
    await cluster.partner(ns, "acme", 1, { "delivery.maxInFlight": 2 });
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
  });
});

describe("a shard that is full", () => {
  test("leaves out the youngest, marks it, and holds the others", async () => {
    const { ns, pod } = await installation({ counts: { config: 3, keys: 2 }, shardBytesMax: 900 });
    const names = Array.from({ length: 9 }, (_, index) => `q-${index}`);
    for (const name of names)
      await cluster.quota(ns, name, { clients: [{ clientId: randomBytes(60).toString("hex") }] });
    const readies = await waitFor(
      async () => {
        const objects = await Promise.all(names.map((name) => cluster.object(ns, "QueryClassQuota", name)));
        const reasons = objects.map(({ status }) => status?.conditions?.find(({ type }) => type === "Ready")?.reason);
        return reasons.every((reason) => reason === "Ready" || reason === "ConfigTooLarge") ? reasons : undefined;
      },
      { ...patience, what: "every quota to be Ready or left out" },
    );
    const ready = names.filter((_name, index) => readies[index] === "Ready");
    expect(ready.length).toBeLessThan(names.length);
    expect(ready.length).toBeGreaterThan(0);
    expect(pod.config?.quotas.map(({ name }) => name)).toEqual(ready);
  });
});

describe("a policy", () => {
  test("that does not grant a namespace what it names keeps it out, until the policy changes", async () => {
    const folder = await temporaryFolder("policy");
    const policyFile = join(folder.path, "policy.yaml");
    await writeFile(policyFile, "grants: [{namespaces: ['*'], producers: ['*'], tenants: [other]}]");
    const { ns, pod } = await installation({ policyFile });
    await cluster.partner(ns, "acme", 1);
    const { message } = await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "NotPermitted");
    expect(message).toContain("the policy does not grant the namespace the tenant lumen");
    await writeFile(policyFile, "grants: [{namespaces: ['*'], producers: ['*'], tenants: [lumen]}]");
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    expect(published(pod, "acme")).toBeDefined();
    await folder.remove();
  });
});

describe("a partner whose state is Paused", () => {
  test("is Ready for that reason, and columns show it beside the spec", async () => {
    const { ns, pod } = await installation();
    await cluster.partner(ns, "acme", 1, { "endpoint.url": "https://partner.example:8443/v1" });
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    await cluster.put(ns, "WebhookPartner", "acme", {
      "signing.keys[0].secretRef.name": "acme",
      "endpoint.url": "https://partner.example:8443/v1",
      state: "Paused",
    });
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Paused");
    expect(published(pod, "acme")).toMatchObject({ state: "Paused" });
    await cluster.quota(ns, "desk");
    await cluster.put(ns, "MetricCatalog", "shop");
    await cluster.reason(ns, "MetricCatalog", "shop", "Ready", "Ready");
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    const shown = async (kinds: string, ...args: readonly string[]) =>
      (await cluster.run(["get", kinds, "-n", ns, ...args])).replaceAll(/ {2,}/gu, "|");
    expect(await shown("wp")).toMatch(
      /^NAME\|READY\|REASON\|HOST\|STATE\|AGE\nacme\|True\|Paused\|partner\.example:8443\|Paused\|/u,
    );
    expect(await shown("wp", "-o", "wide")).toMatch(/\|PROGRAMMED\|SCHEME\|AGE\n.*\|True\|HmacV1\|/u);
    expect(await shown("mcat")).toMatch(
      /^NAME\|READY\|REASON\|METRICS\|STORES\|AGE\nshop\|True\|Ready\|[1-9]\d*\|[1-9]\d*\|/u,
    );
    expect(await shown("qcq")).toMatch(/^NAME\|READY\|REASON\|CLASS\|CLIENTS\|AGE\ndesk\|True\|Ready\|A\|1\|/u);
  });
});

describe("an object that is paused", () => {
  const paused = { annotations: { "heliograph.dev/paused": "true" } };

  test("stays as it was published, over a restart too, and applies again when the pause ends", async () => {
    const { ns, pod, replica } = await installation();
    const quota = () => pod.config?.quotas[0];
    await cluster.quota(ns, "desk");
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    await cluster.quota(ns, "desk", { class: "C" }, paused);
    expect((await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "ReconcilePaused")).message).toContain(
      "That is generation 1.",
    );
    await replica.stop();
    await cluster.replica(ns, { runtime: { urls: [pod.url] } });
    await cluster.quota(ns, "other");
    await cluster.reason(ns, "QueryClassQuota", "other", "Ready", "Ready");
    expect(pod.config?.quotas.find(({ name }) => name === "desk")).toMatchObject({ class: "A", generation: 1 });
    expect((await cluster.object(ns, "QueryClassQuota", "desk")).status?.observedGeneration).toBe(1);
    await cluster.quota(ns, "desk", { class: "C" });
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
    expect(quota()).toMatchObject({ class: "C", generation: 2 });
  });

  test("before a publication has a condition for that, and is not in force", async () => {
    const { ns, pod } = await installation();
    await cluster.quota(ns, "desk", {}, paused);
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "NothingPublished");
    await waitFor(() => pod.config, { ...patience, what: "the pod to have all shards" });
    expect(pod.config?.quotas).toEqual([]);
  });
});
