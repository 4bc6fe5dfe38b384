import { secretType } from "../../kube/client/resource.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Kind } from "../../crds/resource.ts";
import { reasons } from "../../crds/reasons.ts";
import { KubeError } from "../../kube/client/kube-error.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { OperatorCluster } from "./operator-cluster.ts";
import { passThrough } from "./watched-client.ts";
import type { TestPod } from "./test-pod.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

type ReplicaOptions = Parameters<OperatorCluster["replica"]>[1];

interface Place {
  readonly ns: string;
  readonly pod: TestPod;
  readonly start: (options?: ReplicaOptions) => Promise<unknown>;
}

/** One way to come to some of the reasons, all of one object at one time. */
interface Row {
  readonly says: string;
  readonly kind?: Kind;
  /** Condition → reason. */
  readonly reaches: Readonly<Record<string, string>>;
  /** Does all that is needed; the object's name is `it`. */
  readonly come: (place: Place) => Promise<unknown>;
}

const far = { graceMs: 60_000, emptyGraceMs: 60_000, messageMs: 500 };
const definition = "customresourcedefinition/queryclassquotas.heliograph.dev";
const boundPath =
  "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/limits/properties/maxSeries/maximum";

const store = (auth: object) => ({ "stores[0].prometheus": { url: "https://eu.example", ...auth } });
const patchBound = (value: number) =>
  cluster.run(["patch", definition, "--type=json", "-p", JSON.stringify([{ op: "replace", path: boundPath, value }])]);

/** Refuses to read one Secret. */
function forbidding(name: string): NonNullable<ReplicaOptions> {
  return {
    wrapClient: (client) => ({
      ...passThrough(client),
      get: (type, ref, options) =>
        ref.name === name ? Promise.reject(new KubeError("forbidden", "no")) : client.get(type, ref, options),
    }),
  };
}

/** Refuses to list the Secrets of watched namespaces, which are read without their data. */
const withoutSecrets: NonNullable<ReplicaOptions> = {
  wrapClient: (client) => ({
    ...passThrough(client),
    list: (type, options) =>
      options?.metadataOnly === true
        ? Promise.reject(new KubeError("forbidden", "no", { status: 403 }))
        : client.list(type, options),
  }),
};

/** Stores an object that the schema of today refuses, as an earlier, wider one would have let it in. */
async function storeBeyondTheSchema(ns: string): Promise<void> {
  await patchBound(500);
  await waitFor(() => cluster.quota(ns, "it", { limits: { maxSeries: 60 } }).then(() => true), {
    timeoutMs: 60_000,
    what: "the wider schema",
  });
  await patchBound(50);
}

const rows: readonly Row[] = [
  {
    says: "all is well",
    reaches: { Accepted: "Accepted", ResolvedRefs: "ResolvedRefs", Programmed: "Programmed", Ready: "Ready" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "the Secrets of its namespace cannot be listed",
    reaches: { Ready: "Ready", NamespaceWatched: "NamespaceUnavailable" },
    come: async ({ ns, start }) => {
      await start(withoutSecrets);
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "it was stored under a schema that was wider",
    reaches: {
      Accepted: "Invalid",
      ResolvedRefs: "NotChecked",
      Programmed: "NotInForce",
      Ready: "Invalid",
      Stalled: "Invalid",
    },
    come: async ({ ns, start }) => {
      await storeBeyondTheSchema(ns);
      await start();
    },
  },
  {
    says: "the policy grants its namespace nothing",
    reaches: {
      Accepted: "NotPermitted",
      ResolvedRefs: "NotChecked",
      Programmed: "NotInForce",
      Ready: "NotPermitted",
      Reconciling: "NotPermitted",
    },
    come: async ({ ns, start }) => {
      const folder = await temporaryFolder("policy");
      const policyFile = join(folder.path, "policy.yaml");
      await writeFile(policyFile, "grants: []");
      await start({ policyFile });
      await folder.remove();
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "an older one claims the same",
    reaches: { Accepted: "Conflicted", ResolvedRefs: "ResolvedRefs", Ready: "Conflicted", Stalled: "Conflicted" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.quota(ns, "a-elder", { clients: [{ clientId: "it" }] });
      await cluster.reason(ns, "QueryClassQuota", "a-elder", "Ready", "Ready");
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "an older one signs with the same key",
    kind: "WebhookPartner",
    reaches: { Accepted: "SharedSigningKey", Ready: "SharedSigningKey", Programmed: "NotInForce" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.partner(ns, "a-elder", 1);
      await cluster.partner(ns, "it", 1);
    },
  },
  {
    says: "its Secret is not there",
    kind: "WebhookPartner",
    reaches: {
      ResolvedRefs: "SecretNotFound",
      Ready: "SecretNotFound",
      Programmed: "Held",
      Reconciling: "SecretNotFound",
    },
    come: async ({ ns, start }) => {
      await start();
      await cluster.put(ns, "WebhookPartner", "it");
    },
  },
  {
    says: "its Secret was there and is gone",
    kind: "WebhookPartner",
    reaches: {
      ResolvedRefs: "SecretNotFound",
      Ready: "UsingLastGood",
      Programmed: "Programmed",
      Reconciling: "UsingLastGood",
    },
    come: async ({ ns, start }) => {
      await start();
      await cluster.partner(ns, "it", 1);
      await cluster.reason(ns, "WebhookPartner", "it", "Ready", "Ready");
      await cluster.client.delete(secretType, { namespace: ns, name: "it" });
    },
  },
  {
    says: "its Secret cannot be read",
    kind: "WebhookPartner",
    reaches: { ResolvedRefs: "SecretNotReadable", Ready: "SecretNotReadable", Reconciling: "SecretNotReadable" },
    come: async ({ ns, start }) => {
      await start(forbidding("it"));
      await cluster.partner(ns, "it", 1);
    },
  },
  {
    says: "its Secret lacks the entry",
    kind: "WebhookPartner",
    reaches: { ResolvedRefs: "SecretKeyMissing", Ready: "SecretKeyMissing" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.secret(ns, "partner", { other: 1 });
      await cluster.put(ns, "WebhookPartner", "it");
    },
  },
  {
    says: "its key is short",
    kind: "WebhookPartner",
    reaches: { ResolvedRefs: "KeyTooShort", Ready: "KeyTooShort" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.secret(ns, "partner", { hmac: "short" });
      await cluster.put(ns, "WebhookPartner", "it");
    },
  },
  {
    says: "its key is none of the scheme's",
    kind: "WebhookPartner",
    reaches: { ResolvedRefs: "KeyUnusable", Ready: "KeyUnusable" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.partner(ns, "it", 1, { "signing.scheme": "HttpMessageSignatures" });
    },
  },
  {
    says: "a pattern of it is mistyped, while a catalog declares types of the domain",
    kind: "WebhookPartner",
    reaches: { Ready: "Ready", TypesResolved: "TypeNotDeclared" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.secret(ns, "partner", { hmac: 1 });
      await cluster.put(ns, "EventCatalog", "types", {});
      await cluster.put(ns, "WebhookPartner", "it", { "subscriptions[0].types": ["payout.processd"] });
    },
  },
  {
    says: "the catalog is deleted whose classes it excludes",
    kind: "WebhookPartner",
    reaches: { Ready: "Ready", TypesResolved: "ClassNotDeclared" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.secret(ns, "partner", { hmac: 1 });
      const sensitive = [{ pointer: "/id", class: "financial" }];
      await cluster.put(ns, "EventCatalog", "types", { "types[0].sensitive": sensitive });
      const payload = { excludeClasses: ["financial"] };
      await cluster.put(ns, "WebhookPartner", "it", { "subscriptions[0].payload": payload });
      await cluster.reason(ns, "WebhookPartner", "it", "Ready", "Ready");
      await cluster.reason(ns, "EventCatalog", "types", "Ready", "Ready");
      await cluster.remove(ns, "EventCatalog", "types");
    },
  },
  {
    says: "its key of Standard Webhooks is base64 without a prefix",
    kind: "WebhookPartner",
    reaches: { Ready: "Ready", SigningKeysUnambiguous: "UnprefixedKey" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.secret(ns, "partner", { hmac: Buffer.alloc(32, 1).toString("base64") });
      await cluster.put(ns, "WebhookPartner", "it", { "signing.scheme": "StandardWebhooks" });
    },
  },
  {
    says: "its store's token cannot be sent",
    kind: "MetricCatalog",
    reaches: { ResolvedRefs: "CredentialInvalid", Ready: "CredentialInvalid" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.secret(ns, "store", { token: "one\ntwo" });
      await cluster.put(ns, "MetricCatalog", "it", store({ auth: { bearer: { secretRef: { name: "store" } } } }));
    },
  },
  {
    says: "its store's certificates are none",
    kind: "MetricCatalog",
    reaches: { ResolvedRefs: "CertificateInvalid", Ready: "CertificateInvalid" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.secret(ns, "store", { "ca.crt": "nothing of the kind" });
      await cluster.put(ns, "MetricCatalog", "it", store({ tls: { caSecretRef: { name: "store" } } }));
    },
  },
  {
    says: "its shard is full",
    reaches: { Programmed: "ConfigTooLarge", Ready: "ConfigTooLarge", Stalled: "ConfigTooLarge" },
    come: async ({ ns, start }) => {
      await start({ shardBytesMax: 300 });
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "a pod does not apply it",
    reaches: { Programmed: "PartiallyApplied", Ready: "PartiallyApplied", Reconciling: "PartiallyApplied" },
    come: async ({ ns, pod, start }) => {
      await start();
      await waitFor(() => pod.config, { timeoutMs: 60_000, what: "the pod to have all shards" });
      pod.freeze();
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "there is no pod",
    reaches: { Programmed: "NoReadyPods", Ready: "NoReadyPods", Reconciling: "NoReadyPods" },
    come: async ({ ns, start }) => {
      await start({ runtime: { urls: [] } });
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "a pod reports an error for it",
    reaches: { Programmed: "RuntimeError", Ready: "RuntimeError", Reconciling: "RuntimeError" },
    come: async ({ ns, pod, start }) => {
      await start();
      pod.report({
        errors: [
          {
            kind: "QueryClassQuota",
            namespace: ns,
            name: "it",
            generation: 1,
            reason: "NotObeyable",
            message: "it is new",
          },
        ],
      });
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "it is new and waits for its pods",
    reaches: {
      Accepted: "Pending",
      ResolvedRefs: "Pending",
      Programmed: "Pending",
      Ready: "Pending",
      Reconciling: "Pending",
    },
    come: async ({ ns, pod, start }) => {
      await start({ times: far });
      await waitFor(() => pod.config, { timeoutMs: 60_000, what: "the pod to have all shards" });
      pod.freeze();
      await cluster.quota(ns, "it");
    },
  },
  {
    says: "it is paused by its annotation before anything was published of it",
    reaches: { Accepted: "Pending", ResolvedRefs: "Pending", Programmed: "Pending", Ready: "NothingPublished" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.quota(ns, "it", {}, { annotations: { "heliograph.dev/paused": "true" } });
    },
  },
  {
    says: "it is paused by its annotation",
    reaches: { Ready: "ReconcilePaused", Programmed: "Programmed" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.quota(ns, "it");
      await cluster.reason(ns, "QueryClassQuota", "it", "Ready", "Ready");
      await cluster.quota(ns, "it", {}, { annotations: { "heliograph.dev/paused": "true" } });
    },
  },
  {
    says: "its state is Paused",
    kind: "WebhookPartner",
    reaches: { Ready: "Paused", Programmed: "Programmed" },
    come: async ({ ns, start }) => {
      await start();
      await cluster.partner(ns, "it", 1, { state: "Paused" });
    },
  },
  {
    says: "a 410 disabled it",
    kind: "WebhookPartner",
    reaches: { Ready: "PartnerDisabled", Programmed: "Programmed", Stalled: "PartnerDisabled" },
    come: async ({ ns, pod, start }) => {
      await start();
      await cluster.partner(ns, "it", 1);
      const { uid } = (await cluster.object(ns, "WebhookPartner", "it")).metadata;
      const mark = {
        kind: "WebhookPartner",
        namespace: ns,
        name: "it",
        uid,
        generation: 1,
        since: "2026-01-01T00:00:00Z",
      } as const;
      pod.report({ marks: [{ ...mark, reason: "PartnerDisabled", message: "it answered 410" }] });
    },
  },
  ...(["Verified", "ConsentRefused", "ConsentUnanswered"] as const).map((reason): Row => ({
    says: `its endpoint was validated: ${reason}`,
    kind: "WebhookPartner",
    reaches: { Ready: "Ready", EndpointVerified: reason },
    come: async ({ ns, pod, start }) => {
      await start();
      await cluster.partner(ns, "it", 1);
      const { uid } = (await cluster.object(ns, "WebhookPartner", "it")).metadata;
      pod.report({
        marks: [
          {
            kind: "WebhookPartner",
            namespace: ns,
            name: "it",
            uid,
            generation: 1,
            since: "2026-01-01T00:00:00Z",
            reason,
            message: "it said so",
          },
        ],
      });
    },
  })),
  ...(["MatchesStores", "ForbiddenLabel", "Mismatch", "StoreUnavailable", "NotChecked"] as const).map(
    (reason): Row => ({
      says: `its metrics were compared with their stores: ${reason}`,
      kind: "MetricCatalog",
      reaches: { Ready: "Ready", Observed: reason },
      come: async ({ ns, pod, start }) => {
        await start();
        await cluster.put(ns, "MetricCatalog", "it", {});
        const { uid } = (await cluster.object(ns, "MetricCatalog", "it")).metadata;
        const { status } = reasons.Observed[reason];
        const about = { kind: "MetricCatalog", namespace: ns, name: "it", uid, generation: 1, status, reason } as const;
        const metrics = [{ metric: "cpu_util", status: "False", check: "series", message: "eu: no series" }] as const;
        pod.report({ observed: [{ ...about, message: "it is so", metrics }] });
        await waitFor(async () => (await cluster.object(ns, "MetricCatalog", "it")).status?.observed?.[0]?.metric, {
          timeoutMs: 20_000,
          what: "the list of metrics",
        });
      },
    }),
  ),
];

test.each(rows.map((row): readonly [string, Row] => [row.says, row]))(
  "the conditions say so when %s",
  async (_says, { kind = "QueryClassQuota", reaches, come }) => {
    const ns = await cluster.namespace();
    const pod = await cluster.pod(ns, "rt-0");
    await come({ ns, pod, start: (options) => cluster.replica(ns, { runtime: { urls: [pod.url] }, ...options }) });
    for (const [condition, reason] of Object.entries(reaches)) {
      const { status } = await cluster.reason(ns, kind, "it", condition, reason);
      expect(`${condition} ${status} ${reason}`).toBe(`${condition} ${statusOf(condition, reason)} ${reason}`);
    }
  },
);

/** As the table of reasons has it. */
function statusOf(condition: string, reason: string): string {
  const table: Readonly<Record<string, Readonly<Record<string, { readonly status: string }>>>> = reasons;
  const own = table[condition]?.[reason];
  if (own !== undefined) return own.status;
  if (condition !== "Ready") return "True";
  return Object.values(table).find((byReason) => byReason[reason] !== undefined)?.[reason]?.status ?? "none";
}

test("every reason of the table is reached by a row", () => {
  const reached = new Set(
    rows.flatMap(({ reaches }) => Object.entries(reaches).map(([condition, reason]) => `${condition} ${reason}`)),
  );
  const all = Object.entries(reasons).flatMap(([condition, byReason]) =>
    Object.keys(byReason).map((reason) => `${condition} ${reason}`),
  );
  // Those of rules: rules/rule-controller.kube.test.ts. The first of the others needs an edit:
  // event-catalog.kube.test.ts. The second is the API server's: rights.kube.test.ts.
  const others = all.filter((one) => !one.startsWith("RulesWritten "));
  expect(others.filter((one) => !reached.has(one))).toEqual(["Accepted Incompatible", "Ready NoOperator"]);
});
