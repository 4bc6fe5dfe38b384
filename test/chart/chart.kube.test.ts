import { readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { copiedChart, foreignKinds, judged, recipeFile, rendered, variants } from "./judges.ts";
import { type Swagger, writeSchemas } from "./schemas.ts";
import { chartFolder } from "./values-schema.ts";

/** What kube-score would have otherwise, and why it is not. */
const waived: Readonly<Record<string, string>> = {
  "container-image-pull-policy":
    "tags are versions that never move, and a node that cannot reach the registry still starts a pod",
  "container-resources": "a limit on CPU throttles what a request on it already shares out; memory is limited",
  "deployment-has-poddisruptionbudget":
    "the operator has none, since a drain may end each of its pods; drains_test.yaml holds that of the runtime",
  "networkpolicy-targets-pod": "policies of parts that are elsewhere or not running select no pod of the rendered ones",
};

const elsewhere = "nats.enabled=false,externalNats.url=tls://nats.example.com:4222";

let folder: TemporaryFolder;
let api: KubeApiHandle;

beforeAll(async () => {
  folder = await temporaryFolder("chart");
  api = await startKubeApi();
});

afterAll(async () => {
  await api?.stop();
  await folder?.remove();
});

describe("the chart passes", () => {
  test.each(["helm", "helm4"] as const)("the lint of %s, strictly", async (tool) => {
    expect(await judged(tool, ["lint", "--strict", "."])).toBe("good");
  });

  test("its unit tests", async () => {
    expect(await judged("helm-unittest", ["--strict", "--file", "unittest/*_test.yaml", "."])).toBe("good");
  });

  test("kubeconform, with the schemas of the real API server", async () => {
    const { code, stdout } = await api.kubectl(["get", "--raw=/openapi/v2"]);
    expect(code).toBe(0);
    const schemas = join(folder.path, "schemas");
    await writeSchemas(JSON.parse(stdout) as Swagger, schemas);
    for (const [name, values] of Object.entries(variants)) {
      const file = await written(`${name.replaceAll(" ", "-")}.yaml`, await rendered("helm", values));
      const location = join(schemas, "{{.ResourceKind}}{{.KindSuffix}}.json");
      const result = await judged("kubeconform", [
        "-summary",
        "-schema-location",
        location,
        "-skip",
        foreignKinds.join(","),
        file,
      ]);
      expect({ name, result }).toEqual({ name, result: "good" });
    }
  });

  test("the API server's own check of every object, without making one", async () => {
    await api.kubectl(["create", "namespace", "demo"]);
    for (const name of ["as it comes", "with a cluster of NATS and everything that only needs Kubernetes"]) {
      const file = await written("apply.yaml", await rendered("helm", variants[name] ?? []));
      const { code, stderr } = await api.kubectl([
        "apply",
        "--dry-run=server",
        "--namespace=demo",
        `--filename=${file}`,
      ]);
      expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: "" });
    }
  });

  test.each(Object.keys(variants))("kube-score, %s", async (name) => {
    const file = await written("score.yaml", await rendered("helm", variants[name] ?? []));
    const flags = Object.keys(waived).map((check) => `--ignore-test=${check}`);
    expect(await judged("kube-score", ["score", "--output-format=ci", ...flags, file])).toBe("good");
  });
});

describe("the chart", () => {
  test.each(["small", "production", "multi-region", "external-nats", "openshift"])(
    "takes the values of docs/recipes/values-%s.yaml",
    async (name) => {
      expect(await judged("helm", ["lint", "--strict", "--values", recipeFile(name), "."])).toBe("good");
    },
  );

  test.each(Object.keys(variants))("keeps variables of Services out of every pod, %s", async (name) => {
    const documents = parseAllDocuments(await rendered("helm", variants[name] ?? [])).map(
      (document) => document.toJS() as Manifest | null,
    );
    const pods = documents.flatMap(
      (manifest) => (manifest?.kind === "Pod" ? manifest.spec : manifest?.spec?.template?.spec) ?? [],
    );
    expect(pods.length).toBeGreaterThan(1);
    expect(pods.map(({ enableServiceLinks }) => enableServiceLinks)).toEqual(pods.map(() => false));
  });

  test("has alerts that Prometheus takes, the first of them for dead letters of every reason", async () => {
    const files = readdirSync(join(chartFolder, "files", "rules")).map((name) => `files/rules/${name}`);
    expect(await judged("promtool", ["check", "rules", "--lint=all", "--lint-fatal", ...files])).toBe("good");
    expect(await judged("promtool", ["test", "rules", "unittest/rules_promtool.yaml"])).toBe("good");
  });

  test("is rendered alike by helm 3 and helm 4, but for what is made at random", async () => {
    for (const values of Object.values(variants)) {
      const [three, four] = await Promise.all([rendered("helm", values), rendered("helm4", values)]);
      expect(sorted(four)).toEqual(sorted(three));
    }
  });

  test("has the page that helm-docs writes", async () => {
    const copy = await copiedChart(join(folder.path, "docs"));
    expect(await judged("helm-docs", ["--chart-search-root", copy])).toBe("good");
    expect(await readFile(join(chartFolder, "README.md"), "utf8")).toBe(
      await readFile(join(copy, "README.md"), "utf8"),
    );
  });

  test.each([
    ["a value that there is not", "runtime.replica=2", "replica"],
    ["a value of a wrong type", "runtime.replicas=many", "replicas"],
    ["two servers of NATS", "nats.replicas=2", "replicas"],
    ["credentials in a URL", "externalNats.url=tls://user:secret@nats:4222", "url"],
    ["a setting that there is not", "settings.stream.prefix=hg", "stream"],
    ["a budget with which no drain ends", "runtime.podDisruptionBudget.maxUnavailable=0", "maxUnavailable"],
    [
      "less time than a pod takes to end",
      "runtime.terminationGracePeriodSeconds=30",
      "runtime.terminationGracePeriodSeconds is 30, but a pod takes up to 35 s to terminate",
    ],
    ["TLS passed on to pods without a certificate", "tlsRoute.enabled=true", "runtime.tls.secret"],
    ["no NATS at all", "nats.enabled=false", "nats.enabled=false requires externalNats.url"],
    [
      "more copies of a stream than servers",
      "settings.streams.replicas=3",
      "settings.streams.replicas is 3 and nats.replicas is 1",
    ],
    [
      "files of NATS that its volume cannot hold",
      "nats.maxFileStore=10Gi",
      "nats.maxFileStore is 10Gi and nats.persistence.size is 10Gi",
    ],
    [
      "messages in memory beyond half of the limit",
      "nats.maxMemoryStore=600Mi",
      "nats.maxMemoryStore is 600Mi and nats.resources.limits.memory is 1Gi",
    ],
    ["a limit in an unknown form", "nats.resources.limits.memory=1e9k", "nats.resources.limits.memory is 1e9k"],
    ["every tenant for every namespace", "watch.allNamespaces=true", "policy.acceptOpenGrants=true"],
    ["every tenant for each of two namespaces", "watch.namespaces={one,two}", "policy.acceptOpenGrants=true"],
    [
      "the chart's test in a namespace that is not watched",
      "tests.enabled=true,watch.namespaces={one}",
      "tests.enabled needs demo, the release's namespace, among watch.namespaces",
    ],
    ["a label by which pods are selected", String.raw`commonLabels.app\.kubernetes\.io/name=x`, "commonLabels has"],
    [
      "a label of pods by which they are selected",
      String.raw`runtime.podLabels.app\.kubernetes\.io/component=x`,
      "runtime.podLabels has app.kubernetes.io/component",
    ],
    [
      "a label of dashboards that Helm needs",
      String.raw`monitoring.dashboards.labels.app\.kubernetes\.io/managed-by=x`,
      "monitoring.dashboards.labels has",
    ],
    ["an annotation of the chart", "nats.podAnnotations.checksum/config=x", "nats.podAnnotations has checksum/config"],
    ["a file of the chart", String.raw`settingsFiles.settings\.yaml=x`, "settingsFiles has settings.yaml"],
    [
      "memory above the limit",
      "runtime.memory=2Gi",
      "runtime.memory is 2Gi and runtime.resources.limits.memory is 1Gi",
    ],
    [
      "a request above its limit",
      "nats.resources.requests.memory=2Gi",
      "nats.resources.requests.memory is 2Gi and nats.resources.limits.memory is 1Gi",
    ],
    [
      "a request of CPU above its limit",
      "operator.resources.limits.cpu=0.01",
      "operator.resources.requests.cpu is 50m and operator.resources.limits.cpu is 0.01",
    ],
    [
      "a Lease that is not renewed in time",
      "operator.leaseSeconds=10",
      "operator.leaseSeconds is 10, leaseRenewSeconds 10",
    ],
    [
      "fewer pods at most than at least",
      "runtime.autoscaling.enabled=true,runtime.autoscaling.minReplicas=9",
      "minReplicas is 9 and maxReplicas is 8",
    ],
    [
      "an autoscaler without a request of CPU",
      "runtime.autoscaling.enabled=true,runtime.resources.requests.cpu=null",
      "set runtime.resources.requests.cpu",
    ],
    [
      "streams that the volume cannot hold",
      "nats.persistence.size=5Gi",
      "settings.streams can hold up to 6442450944 bytes in 1 replicas, but the 1 servers can store 4294967296 bytes",
    ],
    ["a selector in no known form", "watch.selector=team in shop", 'watch.selector is "team in shop"'],
    ["a part of the values without its fields", "runtime.autoscaling=null", "missing property 'autoscaling'"],
    ["a value of a program without a value", "operator.logLevel=null", "missing property 'logLevel'"],
    ["certificates without an issuer", "certManager.enabled=true", "set certManager.issuerRef.name"],
    [
      "a client certificate without its Secret",
      `${elsewhere},externalNats.clientCertificate=true`,
      "externalNats.tlsSecret",
    ],
    ["a class of load balancers without one", "runtime.service.loadBalancerClass=a", "the type is ClusterIP"],
    ["a policy of outside traffic without any", "runtime.service.externalTrafficPolicy=Local", "the type is ClusterIP"],
    ["a variable twice", "runtime.extraEnv[0].name=A,runtime.extraEnv[1].name=A", "runtime.extraEnv has A"],
    ["the name of the pod", "nats.extraEnv[0].name=POD_NAME", "nats.extraEnv has POD_NAME"],
    ["a volume of the chart", "nats.extraVolumes[0].name=data", "nats.extraVolumes has data"],
    [
      "a mount of the chart",
      "operator.extraVolumeMounts[0].mountPath=/etc/heliograph,operator.extraVolumeMounts[0].name=a",
      "operator.extraVolumeMounts has /etc/heliograph",
    ],
    ["a container of the chart", "nats.extraInitContainers[0].name=monitor", "nats.extraInitContainers has monitor"],
    ["names that no Service may have", "nameOverride=a.b", "Object names would begin with hg-a.b"],
  ])("refuses %s by its name", async (_what, value, named) => {
    await expect(rendered("helm", [value])).rejects.toThrow(named);
  });
});

interface PodSpec {
  readonly enableServiceLinks?: boolean;
}

interface Manifest {
  readonly kind: string;
  readonly spec?: PodSpec & { readonly template?: { readonly spec?: PodSpec } };
}

async function written(name: string, text: string): Promise<string> {
  await mkdir(folder.path, { recursive: true });
  const file = join(folder.path, name);
  await writeFile(file, text);
  return file;
}

/** The documents without order, since the two sort kinds differently, and without passwords and certificates. */
function sorted(manifests: string): readonly string[] {
  const documents = manifests
    .split(/^---$/mu)
    .map((document) => document.replaceAll(/^ {2}(?:\S+\.(?:crt|key)|runtime|backup|system): \S{20,}$/gmu, "").trim());
  return documents.filter((document) => document !== "").sort();
}
