import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Definition, kubernetesVersions, pinnedFolder, type Swagger } from "./schemas.ts";

/** Kinds that the chart renders, or may render one day, as `group/version/kind`. */
const kinds = [
  ...["ConfigMap", "Namespace", "PersistentVolumeClaim", "Pod", "Secret", "Service", "ServiceAccount"].map(
    (kind) => `/v1/${kind}`,
  ),
  ...["DaemonSet", "Deployment", "StatefulSet"].map((kind) => `apps/v1/${kind}`),
  ...["CronJob", "Job"].map((kind) => `batch/v1/${kind}`),
  ...["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map((kind) => `rbac.authorization.k8s.io/v1/${kind}`),
  ...["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].map(
    (kind) => `admissionregistration.k8s.io/v1/${kind}`,
  ),
  ...["Ingress", "NetworkPolicy"].map((kind) => `networking.k8s.io/v1/${kind}`),
  "apiextensions.k8s.io/v1/CustomResourceDefinition",
  "autoscaling/v2/HorizontalPodAutoscaler",
  "policy/v1/PodDisruptionBudget",
];

/** The definitions of the kinds and of what they consist of, without descriptions. */
function trimmed({ definitions }: Swagger): Swagger {
  const kept: Record<string, Definition> = {};
  const keep = (name: string): void => {
    const definition = definitions[name];
    if (definition === undefined || name in kept) return;
    const text = JSON.stringify(definition, (key, value: unknown) =>
      key === "description" && typeof value === "string" ? undefined : value,
    );
    kept[name] = JSON.parse(text) as Definition;
    for (const [, below = ""] of text.matchAll(/"#\/definitions\/([^"]+)"/gu)) keep(below);
  };
  for (const [name, definition] of Object.entries(definitions)) {
    const named = definition["x-kubernetes-group-version-kind"] ?? [];
    if (named.some(({ group, version, kind }) => kinds.includes(`${group}/${version}/${kind}`))) keep(name);
  }
  return { definitions: Object.fromEntries(Object.entries(kept).toSorted(([a], [b]) => (a < b ? -1 : 1))) };
}

/** Downloads a release of Kubernetes as a Go module and answers its OpenAPI document. */
function swaggerOf(version: string): Swagger {
  const output = execFileSync("go", ["mod", "download", "-json", `k8s.io/kubernetes@v${version}`], {
    encoding: "utf8",
    cwd: "/",
  });
  const { Dir: folder } = JSON.parse(output) as { readonly Dir: string };
  return JSON.parse(readFileSync(join(folder, "api", "openapi-spec", "swagger.json"), "utf8")) as Swagger;
}

/** Writes the schemas of each supported version again: node test/chart/pin-schemas.ts */
if (import.meta.main) {
  mkdirSync(pinnedFolder, { recursive: true });
  for (const version of kubernetesVersions) {
    const text = JSON.stringify(trimmed(swaggerOf(version)));
    writeFileSync(join(pinnedFolder, `${version}.json`), `${text.replaceAll('},"io.k8s', '},\n"io.k8s')}\n`);
    process.stdout.write(`${version}: ${text.length} characters\n`);
  }
}
