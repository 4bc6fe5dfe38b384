import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { recipeFile, variants } from "./judges.ts";
import { chartFolder } from "./values-schema.ts";

const renderMsMax = 60_000;

interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly fsGroup?: number;
  readonly seccompProfile?: { readonly type: string };
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
}
interface Container {
  readonly name: string;
  readonly securityContext?: SecurityContext;
  readonly ports?: readonly { readonly hostPort?: number }[];
}
interface PodSpec {
  readonly securityContext?: SecurityContext;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
}

/** Source: OpenShift, SecurityContextConstraints restricted-v2, `volumes`. */
const volumeKinds = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

/**
 * What restricted-v2 has against a pod; the ranges of a namespace are not known here, so that every fixed user or group
 * is a fault. Source: OpenShift, SecurityContextConstraints restricted-v2.
 */
function faults(pod: PodSpec): readonly string[] {
  const kinds = (pod.volumes ?? []).flatMap((volume) => Object.keys(volume).filter((key) => key !== "name"));
  return [
    ...(pod.hostNetwork || pod.hostPID || pod.hostIPC ? ["shares a namespace of the host"] : []),
    ...kinds.filter((kind) => !volumeKinds.includes(kind)).map((kind) => `volume ${kind}`),
    ...userFaults("pod", pod.securityContext),
    ...[...pod.containers, ...(pod.initContainers ?? [])].flatMap(containerFaults),
  ];
}

function userFaults(name: string, context: SecurityContext = {}): readonly string[] {
  const fixed = (["runAsUser", "runAsGroup", "fsGroup"] as const).filter((key) => context[key] !== undefined);
  const profile = context.seccompProfile?.type ?? "RuntimeDefault";
  return [
    ...fixed.map((key) => `${name}: ${key} is fixed`),
    ...(profile === "RuntimeDefault" ? [] : [`${name}: seccomp ${profile}`]),
  ];
}

function containerFaults({ name, securityContext = {}, ports = [] }: Container): readonly string[] {
  const isClosed = securityContext.privileged !== true && securityContext.allowPrivilegeEscalation === false;
  return [
    ...userFaults(name, securityContext),
    ...(isClosed ? [] : [`${name}: may gain privileges`]),
    ...(isWithoutCapabilities(securityContext) ? [] : [`${name}: keeps capabilities`]),
    ...(ports.some(({ hostPort }) => hostPort !== undefined) ? [`${name}: port of the host`] : []),
  ];
}

function isWithoutCapabilities({ capabilities = {} }: SecurityContext): boolean {
  const { add = [], drop = [] } = capabilities;
  return drop.includes("ALL") && add.every((capability) => capability === "NET_BIND_SERVICE");
}

async function podsOf(flags: readonly string[]): Promise<readonly PodSpec[]> {
  const args = ["template", "hg", chartFolder, "--namespace=demo", ...flags];
  const { code, stdout, stderr } = await run(await resolveTool("helm"), args, { timeoutMs: renderMsMax });
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => {
    const manifest = document.toJS() as Manifest | null;
    return (manifest?.kind === "Pod" ? manifest.spec : manifest?.spec?.template?.spec) ?? [];
  });
}

interface Manifest {
  readonly kind: string;
  readonly spec?: PodSpec & { readonly template?: { readonly spec?: PodSpec } };
}

const settings = (name: string): readonly string[] => (variants[name] ?? []).flatMap((value) => ["--set", value]);

test.each(Object.keys(variants))("the recipe for OpenShift passes restricted-v2 in every pod, %s", async (name) => {
  const pods = await podsOf([`--values=${recipeFile("openshift")}`, ...settings(name)]);
  expect(pods.length).toBeGreaterThan(1);
  expect(pods.flatMap(faults)).toEqual([]);
});

test("without it, each pod has a fixed user, which restricted-v2 refuses", async () => {
  const [pod] = await podsOf([]);
  expect(faults(pod ?? { containers: [] })).toEqual([
    "pod: runAsUser is fixed",
    "pod: runAsGroup is fixed",
    "pod: fsGroup is fixed",
  ]);
});
