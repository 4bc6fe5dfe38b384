import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { resolveTool } from "../tools/resolve.ts";
import { succeed } from "../tools/run.ts";

const chartFolder = join(dirname(dirname(import.meta.dirname)), "charts", "heliograph");
const helmMsMax = 60_000;
/** Annotations and labels that only helm uses. */
const ofHelm = ["helm.sh/resource-policy", "helm.sh/hook", "helm.sh/chart", "app.kubernetes.io/managed-by"];

/** How the plain manifests differ from the chart's defaults. */
export interface ManifestOptions {
  /** @default "heliograph" */
  readonly namespace?: string;
  /** Files of values for the chart. @default none */
  readonly values?: readonly string[];
}

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: { readonly template?: { readonly metadata?: Metadata } };
}

interface Metadata {
  namespace?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

const clusterScoped = new Set([
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
]);

/**
 * Renders the chart into a folder for `kubectl apply -k`. The Secrets of NATS are a file of their own, which
 * kustomization.yaml does not name. Each rendering makes other ones, and a published one would be no secret.
 *
 * @throws Error with what helm said
 */
export async function writeManifests(target: string, options: ManifestOptions = {}): Promise<void> {
  const { namespace = "heliograph", values = [] } = options;
  const objects = (await rendered(namespace, values)).filter((object) => !isTest(object));
  for (const object of objects) withoutHelm(object, namespace);
  const isDefinition = ({ kind }: KubernetesObject): boolean => kind === "CustomResourceDefinition";
  const isSecret = ({ kind }: KubernetesObject): boolean => kind === "Secret";
  const files = {
    "namespace.yaml": [namespaceObject(namespace)],
    "definitions.yaml": objects.filter(isDefinition),
    "heliograph.yaml": objects.filter((object) => !isDefinition(object) && !isSecret(object)),
  };
  const kustomization = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization" };
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  await write(join(target, "kustomization.yaml"), [{ ...kustomization, resources: Object.keys(files) }]);
  for (const [name, content] of Object.entries(files)) await write(join(target, name), content);
  await write(join(target, "secrets.yaml"), objects.filter(isSecret));
}

async function rendered(namespace: string, values: readonly string[]): Promise<readonly KubernetesObject[]> {
  const files = values.flatMap((path) => ["--values", path]);
  const args = ["template", "heliograph", chartFolder, "--namespace", namespace, ...files];
  const text = await succeed(await resolveTool("helm"), args, { timeoutMs: helmMsMax });
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as KubernetesObject | null) ?? []);
}

function isTest({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.["helm.sh/hook"] === "test";
}

/** Names the namespace, and takes away what is of use to helm only. */
function withoutHelm(object: KubernetesObject, namespace: string): void {
  if (!clusterScoped.has(object.kind)) object.metadata.namespace ??= namespace;
  const metadata = [object.metadata, object.spec?.template?.metadata];
  for (const names of metadata.flatMap((some) => [some?.annotations ?? {}, some?.labels ?? {}]))
    for (const name of ofHelm) delete names[name];
}

function namespaceObject(name: string): object {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

async function write(path: string, objects: readonly object[]): Promise<void> {
  await writeFile(path, objects.map((object) => stringify(object)).join("---\n"));
}
