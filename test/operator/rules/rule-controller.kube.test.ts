import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { ownedRules } from "../../../cli/operator/owned-rules.ts";
import { KubeError } from "../../../kube/client/kube-error.ts";
import { systemClock } from "../../../limits/clock.ts";
import { type RuleObject, ruleType } from "../../../operator/rules/rule-object.ts";
import { type ResourceObject, resourceTypes } from "../../../operator/resource-types.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { prometheusRuleDefinition } from "./prometheus-rule-definition.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { OperatorCluster, type Replica } from "../operator-cluster.ts";
import { passThrough } from "../watched-client.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

type Changes = NonNullable<Parameters<OperatorCluster["put"]>[3]>;
type Options = NonNullable<Parameters<OperatorCluster["replica"]>[1]>;

const patience = { timeoutMs: 60_000 };
const dayMs = 86_400_000;
const over = { operator: "AtMost", threshold: 0.9, sliceSeconds: 300 };
const objective = { name: "cpu", domain: "platform", metric: "cpu_util", objective: 0.99, over };
const weekly = { reason: "weekly", schedule: { cron: "0 2 * * SUN", durationMinutes: 60, timeZone: "Europe/Berlin" } };
const platform = { "stores[0].tenancy": "Platform", "stores[1].tenancy": "Platform" };
const catalog: Changes = { ...platform, slos: [objective] };
const written = ownedRules({ mode: "write", labels: { release: "prometheus" } });

/** A namespace with a pod and a leader that writes rules. */
async function place(options: Options = {}): Promise<{ ns: string; leader: Replica; url: string }> {
  const ns = await cluster.namespace();
  const { url } = await cluster.pod(ns, "rt-0");
  const leader = await cluster.replica(ns, { runtime: { urls: [url] }, rules: written, ...options });
  return { ns, leader, url };
}

const rule = (ns: string, name = "it-slos"): Promise<RuleObject> =>
  cluster.client.get<RuleObject>(ruleType, { namespace: ns, name });
const reason = (ns: string, why: string) => cluster.reason(ns, "MetricCatalog", "it", "RulesWritten", why);
const ruleWrites = ({ client }: Replica): number =>
  client.writes().filter(({ resource }) => resource === "monitoring.coreos.com/prometheusrules").length;

/** Waits until the rule has what the predicate wants. */
async function until(ns: string, what: string, isSo: (rule: RuleObject) => boolean): Promise<RuleObject> {
  return await waitFor(
    async () => {
      const found = await rule(ns);
      return isSo(found) ? found : undefined;
    },
    { ...patience, what },
  );
}

const isAbsent = (ns: string): Promise<boolean> =>
  rule(ns).then(
    () => false,
    ({ kind }: KubeError) => kind === "notFound",
  );

/** Merges into the object, as `kubectl patch` does. */
const patch = (ns: string, value: object) =>
  cluster.run(["patch", "prometheusrule/it-slos", "--namespace", ns, "--type=merge", "-p", JSON.stringify(value)]);

test("a missing kind is in the condition, and rules are written once it exists", async () => {
  const { ns, leader } = await place();
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await reason(ns, "KindMissing");
  await cluster.reason(ns, "MetricCatalog", "it", "Ready", "Ready");
  expect((await fetch(`${leader.operator.metricsUrl}/readyz`)).status).toBe(200);
  await cluster.run(["apply", "-f", "-"], JSON.stringify(prometheusRuleDefinition));
  await reason(ns, "Written");
  expect((await rule(ns)).metadata.labels).toMatchObject({ release: "prometheus" });
});

test("the rules are those of the command, belong to the catalog and follow its objectives", async () => {
  const { ns } = await place();
  await cluster.put(ns, "MetricCatalog", "it", catalog, { labels: { "app.kubernetes.io/instance": "argo" } });
  const { message } = await reason(ns, "Written");
  expect(message).toBe("A PrometheusRule has the alert rules of the catalog's objectives. It has 4 alerts.");
  const own = await cluster.object(ns, "MetricCatalog", "it");
  const first = await rule(ns);
  const folder = await temporaryFolder("rule-controller");
  onTestFinished(() => folder.remove());
  const file = join(folder.path, "catalog.yaml");
  await writeFile(file, stringify({ ...own, status: undefined }));
  const printed = await runProgram(["rules", file, "--output=prometheusrule"]);
  expect(parse(printed.stdout)).toEqual({ ...first, metadata: { name: "it-slos", namespace: ns } });
  const { uid } = own.metadata;
  expect(first.metadata.ownerReferences).toEqual([
    { apiVersion: "heliograph.dev/v1alpha1", kind: "MetricCatalog", name: "it", uid },
  ]);
  // A copied label of a deployment tool would make it delete the object.
  expect(first.metadata.labels).toEqual({
    "app.kubernetes.io/managed-by": "heliograph-operator",
    release: "prometheus",
  });
  await cluster.put(ns, "MetricCatalog", "it", { ...catalog, slos: [{ ...objective, objective: 0.95 }] });
  await until(ns, "the new objective", ({ spec }) => JSON.stringify(spec).includes("95 %"));
  await cluster.put(ns, "MetricCatalog", "it", { ...platform, slos: [] });
  await waitFor(() => isAbsent(ns), { ...patience, what: "the rules to be removed" });
  await waitFor(
    async () => {
      const { status } = await cluster.object(ns, "MetricCatalog", "it");
      return status?.conditions?.every(({ type }) => type !== "RulesWritten");
    },
    { ...patience, what: "the condition to end" },
  );
});

test("an object of somebody else is a conflict until it is handed over", async () => {
  const { ns } = await place();
  const metadata = { name: "it-slos", namespace: ns, annotations: { team: "mine" } };
  const theirs = { groups: [{ name: "mine", rules: [{ alert: "Mine", expr: "vector(1)" }] }] };
  const manifest = { apiVersion: "monitoring.coreos.com/v1", kind: "PrometheusRule", metadata, spec: theirs };
  await cluster.run(["apply", "-f", "-"], JSON.stringify(manifest));
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  const { message } = await reason(ns, "Conflict");
  const command = `kubectl annotate prometheusrule it-slos --namespace ${ns} heliograph.dev/adopt=true`;
  expect(message).toContain(`Delete ${ns}/it-slos, or let the operator take it over: ${command}`);
  expect((await rule(ns)).spec).toEqual(theirs);
  await cluster.run(command.split(" ").slice(1));
  await reason(ns, "Written");
  const { metadata: after, spec } = await rule(ns);
  expect(JSON.stringify(spec)).not.toContain("Mine");
  expect(after.annotations).toEqual({ team: "mine", "heliograph.dev/rules-day": expect.any(String) as string });
  expect(after.ownerReferences).toHaveLength(1);
});

test("a deleted object of somebody else makes place", async () => {
  const { ns } = await place();
  await cluster.client.create<RuleObject>(ruleType, { metadata: { namespace: ns, name: "it-slos" }, spec: {} });
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await reason(ns, "Conflict");
  await cluster.client.delete(ruleType, { namespace: ns, name: "it-slos" });
  await reason(ns, "Written");
  expect((await rule(ns)).metadata.ownerReferences).toHaveLength(1);
});

test("edits are repaired, also groups and labels that others add or remove; their annotations stay", async () => {
  const { ns, leader } = await place();
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await reason(ns, "Written");
  const { spec, metadata } = await rule(ns);
  const { groups } = spec as { readonly groups: readonly object[] };
  await patch(ns, { spec: { groups: [...groups, { name: "more" }] }, metadata: { annotations: { seen: "yes" } } });
  await until(ns, "the first repair", (found) => JSON.stringify(found.spec) === JSON.stringify(spec));
  await patch(ns, { metadata: { labels: { release: null } } });
  const relabelled = await until(ns, "the label", (found) => found.metadata.labels?.["release"] === "prometheus");
  expect(relabelled.metadata.annotations).toMatchObject({ seen: "yes" });
  await cluster.client.delete(ruleType, { namespace: ns, name: "it-slos" });
  await until(ns, "another object", (found) => found.metadata.uid !== metadata.uid);
  // The Prometheus operator writes the status of each rule that a server selects.
  const before = ruleWrites(leader);
  const bound = { status: { bindings: [{ name: "main" }] } };
  const args = ["--namespace", ns, "--subresource=status", "--type=merge", "-p", JSON.stringify(bound)];
  await cluster.run(["patch", "prometheusrule/it-slos", ...args]);
  await cluster.put(ns, "MetricCatalog", "sentinel", {
    ...catalog,
    "metrics[0].id": "gpu_util",
    "slos[0].metric": "gpu_util",
  });
  await cluster.reason(ns, "MetricCatalog", "sentinel", "RulesWritten", "Written");
  expect(ruleWrites(leader)).toBe(before + 1);
});

test("a label that is no longer wanted is removed from what exists, labels of others stay", async () => {
  await cluster.run(["apply", "-f", "-"], JSON.stringify(prometheusRuleDefinition));
  const labels = { release: "prometheus", tier: "one", team: "sre" };
  const { ns, leader, url } = await place({ rules: ownedRules({ mode: "write", labels }) });
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await reason(ns, "Written");
  await patch(ns, { metadata: { labels: { mine: "yes" } } });
  // Another program wants the same value.
  const theirs = { metadata: { namespace: ns, name: "it-slos", labels: { team: "sre" } } };
  await cluster.client.apply<RuleObject>(ruleType, theirs, { fieldManager: "deployer" });
  await leader.stop();
  const second = await cluster.replica(ns, { runtime: { urls: [url] }, rules: written });
  const relabelled = await until(ns, "the label to end", ({ metadata }) => metadata.labels?.["tier"] === undefined);
  expect(relabelled.metadata.labels).toEqual({
    "app.kubernetes.io/managed-by": "heliograph-operator",
    release: "prometheus",
    team: "sre",
    mine: "yes",
  });
  await second.stop();
  await cluster.replica(ns, { runtime: { urls: [url] }, rules: ownedRules({ mode: "write", labels: {} }) });
  const bare = await until(ns, "the last label to end", ({ metadata }) => metadata.labels?.["release"] === undefined);
  expect(bare.metadata.labels).toMatchObject({ team: "sre", mine: "yes" });
});

test("a program that undoes each repair is named, and not fought", async () => {
  const { ns, leader } = await place();
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await reason(ns, "Written");
  const fighter = { fieldManager: "fighter", force: true };
  const undo = async (): Promise<boolean> => {
    await cluster.client.apply<RuleObject>(
      ruleType,
      { metadata: { namespace: ns, name: "it-slos" }, spec: { groups: [{ name: "theirs" }] } },
      fighter,
    );
    const status = (await cluster.object(ns, "MetricCatalog", "it")).status;
    return status?.conditions?.some(({ reason: why }) => why === "Contested") ?? false;
  };
  await waitFor(undo, { ...patience, what: "the object to be contested" });
  expect((await reason(ns, "Contested")).message).toContain("Programs that changed it: fighter");
  expect(ruleWrites(leader)).toBeLessThanOrEqual(5);
});

test("a catalog with tenants needs their names, which an annotation has", async () => {
  const { ns } = await place();
  await cluster.put(ns, "MetricCatalog", "it", { slos: [objective] });
  const { message } = await reason(ns, "TenantRequired");
  expect(message).toContain("the annotation heliograph.dev/rule-tenants names");
  await cluster.run(["annotate", "metriccatalog/it", "--namespace", ns, "heliograph.dev/rule-tenants=lumen, acme"]);
  await reason(ns, "Written");
  expect(JSON.stringify((await rule(ns)).spec)).toMatch(/\/cpu\/acme.*\/cpu\/lumen/u);
});

test("another leader writes nothing, until silenced intervals run out", async () => {
  const { ns, leader, url } = await place();
  await cluster.put(ns, "MetricCatalog", "it", { ...catalog, slos: [{ ...objective, corrections: [weekly] }] });
  expect((await reason(ns, "Written")).message).toContain("Corrections are silenced until");
  const { metadata, spec } = await rule(ns);
  await leader.stop();
  const at = (days: number): Options => ({
    runtime: { urls: [url] },
    rules: written,
    clock: { ...systemClock, wallMs: () => Date.now() + days * dayMs },
  });
  const second = await cluster.replica(ns, at(16));
  await cluster.put(ns, "MetricCatalog", "sentinel", {
    ...catalog,
    "metrics[0].id": "gpu_util",
    "slos[0].metric": "gpu_util",
  });
  await cluster.reason(ns, "MetricCatalog", "sentinel", "RulesWritten", "Written");
  expect((await rule(ns)).metadata.resourceVersion).toBe(metadata.resourceVersion);
  await second.stop();
  await cluster.replica(ns, at(17));
  const refreshed = await until(ns, "the refresh", (found) => found.metadata.generation !== metadata.generation);
  expect(refreshed.spec).not.toEqual(spec);
  const nextEnd = new Date(Math.floor(Date.now() / dayMs + 17 + 35) * dayMs).toISOString();
  const isReported = async (): Promise<boolean> => (await reason(ns, "Written")).message.includes(nextEnd);
  await waitFor(isReported, { ...patience, what: "the next end in the condition" });
});

test("rules are removed when they are switched to remove", async () => {
  const { ns, leader, url } = await place();
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await reason(ns, "Written");
  await cluster.client.create<RuleObject>(ruleType, { metadata: { namespace: ns, name: "other-slos" }, spec: {} });
  await leader.stop();
  await cluster.replica(ns, { runtime: { urls: [url] }, rules: ownedRules({ mode: "remove", labels: {} }) });
  await waitFor(() => isAbsent(ns), { ...patience, what: "the rules to be removed" });
  expect((await rule(ns, "other-slos")).spec).toEqual({});
});

test("a rejected write is in the condition, and repeated; Ready stays", async () => {
  let isRejected = true;
  const { ns } = await place({
    wrapClient: (client) => ({
      ...passThrough(client),
      create: (type, object, options) =>
        type.kind === "PrometheusRule" && isRejected
          ? Promise.reject(new KubeError("transient", "failed calling webhook: no endpoints", { status: 500 }))
          : client.create(type, object, options),
    }),
  });
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  expect((await reason(ns, "WriteRejected")).message).toContain("failed calling webhook");
  await cluster.reason(ns, "MetricCatalog", "it", "Ready", "Ready");
  isRejected = false;
  await reason(ns, "Written");
});

test("rules that the Prometheus operator cannot load are not written", async () => {
  const { ns } = await place();
  const tenants = Array.from({ length: 100 }, (_, index) => `tenant-${index}`).join(",");
  const slos = Array.from({ length: 20 }, (_, index) => ({ ...objective, name: `cpu-${index}` }));
  const annotations = { "heliograph.dev/rule-tenants": tenants };
  await cluster.put(ns, "MetricCatalog", "it", { slos }, { annotations });
  expect((await reason(ns, "TooLarge")).message).toMatch(/They have \d{7} bytes/u);
  expect(await isAbsent(ns)).toBe(true);
});

test("the installation that writes a catalog's status writes its rules, the other does not", async () => {
  const { ns, url } = await place();
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await reason(ns, "Written");
  const options = {
    runtime: { urls: [url] },
    prefix: "second",
    rules: ownedRules({ mode: "write", labels: { a: "b" } }),
  };
  const second = await cluster.replica(ns, options);
  await waitFor(
    async () => {
      const { status } = await cluster.object(ns, "MetricCatalog", "it");
      return status?.conditions?.some(({ type }) => type === "Conflict");
    },
    { ...patience, what: "the second installation to see the catalog" },
  );
  expect(ruleWrites(second)).toBe(0);
});

test("rules of a deleted catalog are left to the garbage collector, and a new one of its name gets others", async () => {
  const { ns, leader } = await place();
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await reason(ns, "Written");
  const { metadata } = await rule(ns);
  await cluster.remove(ns, "MetricCatalog", "it");
  await cluster.put(ns, "MetricCatalog", "it", catalog);
  await cluster.reason(ns, "MetricCatalog", "it", "Ready", "Ready");
  expect(ruleWrites(leader)).toBe(1);
  // As the garbage collector does, which this API server lacks.
  await cluster.client.delete(ruleType, { namespace: ns, name: "it-slos" });
  const next = await until(ns, "another object", (found) => found.metadata.uid !== metadata.uid);
  const { uid } = await cluster.client
    .get<ResourceObject>(resourceTypes.MetricCatalog, { namespace: ns, name: "it" })
    .then((object) => object.metadata);
  expect(next.metadata.ownerReferences?.map((one) => one.uid)).toEqual([uid]);
});
