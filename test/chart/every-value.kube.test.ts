import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { flips, type Flip, valuesOf } from "./value-flips.ts";
import { chartFolder } from "./values-schema.ts";

type Values = Readonly<Record<string, unknown>>;

/** What every rendering has: nothing made at random, and no definitions, which take long. */
const always: Values = { "nats.authSecret": "auth", "nats.tls.existingSecret": "tls", "crds.install": false };

const external: Values = {
  "nats.enabled": false,
  "externalNats.url": "tls://nats.example.com:4222",
  "externalNats.tlsSecret": "tls",
};
const passthrough: Values = {
  "tlsRoute.enabled": true,
  "tlsRoute.parentRefs": [{ name: "gateway" }],
  "tlsRoute.hostnames": ["heliograph.example.com"],
  "runtime.tls.secret": "api-tls",
};

/** What has to be set for a value to count, by the first part of the value's path. The longest part wins. */
const companions: Readonly<Record<string, Values>> = {
  "clusterIssuer.tokenBinding": { "runtime.tls.secret": "api-tls" },
  "operator.podDisruptionBudget.maxUnavailable": { "operator.podDisruptionBudget.enabled": true },
  "operator.prometheusRules": { "operator.prometheusRules.mode": "Write" },
  "operator.prometheusRules.mode": {},
  "nats.enabled": { "externalNats.url": "tls://nats.example.com:4222" },
  "nats.migration": { "nats.migration.replicas": 3, "nats.migration.store": "b" },
  "nats.migration.replicas": { "nats.migration.store": "b" },
  externalNats: external,
  "externalNats.authSecret": external,
  "externalNats.ports": { ...external, "networkPolicy.egressTo": [{ ipBlock: { cidr: "192.0.2.0/24" } }] },
  "watch.namespaces": { "policy.acceptOpenGrants": true },
  "watch.allNamespaces": { "policy.acceptOpenGrants": true },
  ingress: { "ingress.enabled": true },
  "ingress.enabled": {},
  clusterDomain: { "tests.enabled": true },
  "httpRoute.enabled": { "httpRoute.parentRefs": [{ name: "gateway" }] },
  httpRoute: { "httpRoute.enabled": true, "httpRoute.parentRefs": [{ name: "gateway" }] },
  tlsRoute: passthrough,
  "tlsRoute.enabled": { ...passthrough, "tlsRoute.enabled": false },
  "runtime.service.loadBalancerClass": { "runtime.service.type": "LoadBalancer" },
  "runtime.service.externalTrafficPolicy": { "runtime.service.type": "LoadBalancer" },
  "runtime.tls": { "runtime.tls.secret": "api-tls" },
  "runtime.tls.secret": {},
  "runtime.autoscaling": { "runtime.autoscaling.enabled": true },
  "runtime.autoscaling.enabled": {},
  "runtime.autoscaling.keda": {
    "runtime.autoscaling.keda.enabled": true,
    "runtime.autoscaling.keda.prometheusUrl": "http://prometheus:9090",
  },
  "runtime.autoscaling.keda.enabled": { "runtime.autoscaling.keda.prometheusUrl": "http://prometheus:9090" },
  "runtime.console.issuer": {
    "runtime.console.clientId": "console",
    "settings.issuers": [
      {
        issuer: "https://flipped.example.com",
        audiences: ["heliograph"],
        jwksUrl: "https://flipped.example.com/keys",
        tokenBinding: "Key",
      },
    ],
  },
  "runtime.tracing": { "runtime.tracing.endpoint": "http://collector:4318" },
  "runtime.tracing.endpoint": {},
  "runtime.terminationGracePeriodSeconds": { "runtime.unreadySeconds": 0, "runtime.drainSeconds": 1 },
  certManager: {
    "certManager.enabled": true,
    "certManager.issuerRef.name": "ca",
    "nats.tls.existingSecret": "",
  },
  "certManager.enabled": { "certManager.issuerRef.name": "ca", "runtime.tls.secret": "api-tls" },
  "monitoring.serviceMonitor": { "monitoring.serviceMonitor.enabled": true },
  "monitoring.serviceMonitor.enabled": {},
  "monitoring.prometheusRule": { "monitoring.prometheusRule.enabled": true },
  "monitoring.prometheusRule.enabled": {},
  "monitoring.dashboards": { "monitoring.dashboards.enabled": true },
  "monitoring.dashboards.enabled": {},
  tests: { "tests.enabled": true },
  "tests.enabled": {},
};

/** Values instead of those that the schema alone suggests. */
const suggested: Values = {
  "runtime.terminationGracePeriodSeconds": 90,
  "runtime.console.issuer": "https://flipped.example.com",
  "nats.maxMemoryStore": "128Mi",
  "nats.maxFileStore": "7Gi",
  "nats.persistence.size": "20Gi",
  "crds.install": true,
  ...Object.fromEntries(
    ["operator", "runtime", "nats"].flatMap((part) =>
      ["startupProbe", "livenessProbe", "readinessProbe"].map((probe) => [`${part}.${probe}`, { failureThreshold: 9 }]),
    ),
  ),
};

/** Values that change no object, and why they are there. */
const unrendered: Readonly<Record<string, string>> = {
  "policy.acceptOpenGrants": "lifts a refusal, as chart.kube.test.ts shows",
};

const renderMsMax = 30_000;
let folder: TemporaryFolder;
let helm: string;

beforeAll(async () => {
  [folder, helm] = await Promise.all([temporaryFolder("every-value"), resolveTool("helm")]);
});
afterAll(() => folder?.remove());

function companionsOf(path: string): Values {
  const names = path.split(".");
  const heads = names.map((_name, index) => names.slice(0, names.length - index).join("."));
  return companions[heads.find((head) => companions[head] !== undefined) ?? ""] ?? {};
}

/** The manifests. @throws Error with what helm said */
async function rendered(values: Values): Promise<string> {
  const file = join(folder.path, `${crypto.randomUUID()}.json`);
  await writeFile(file, JSON.stringify(valuesOf(values)));
  const args = ["template", "hg", chartFolder, "--namespace=demo", `--values=${file}`];
  const { code, stdout, stderr } = await run(helm, args, { timeoutMs: renderMsMax });
  if (code !== 0) throw new Error(`${JSON.stringify(values)}: ${stderr}`);
  return stdout;
}

/** Renderings that several values are compared with. */
const compared = new Map<string, Promise<string>>();

async function changes({ path, value }: Flip): Promise<boolean> {
  const beside: Values = { ...always, ...companionsOf(path) };
  const key = JSON.stringify(beside);
  const before = compared.get(key) ?? rendered(beside);
  compared.set(key, before);
  return (await rendered({ ...beside, [path]: suggested[path] ?? value })) !== (await before);
}

async function ineffective(all: readonly Flip[]): Promise<readonly string[]> {
  const queue = [...all];
  const found: string[] = [];
  const work = async (): Promise<void> => {
    for (let flip = queue.shift(); flip !== undefined; flip = queue.shift())
      if (!(await changes(flip))) found.push(flip.path);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return found.sort();
}

test("every value of the chart changes an object", async () => {
  const own = flips().filter(({ path }) => !path.startsWith("settings."));
  expect(own.length).toBeGreaterThan(100);
  expect(await ineffective(own)).toEqual(Object.keys(unrendered).sort());
});

/** Parts of the values with a fallback, which older releases lacked. */
const withFallback = new RegExp(
  String.raw`^(?:admissionPolicy|services|tlsRoute|operator\.prometheusRules|nats\.(?:migration|monitor|service)|` +
    String.raw`runtime\.(?:console|tls|tracing))\b`,
  "u",
);

test("a part of the values that is taken out with null is named, unless it has a fallback", async () => {
  const heads = flips().flatMap(({ path }) => {
    const names = path.split(".");
    return names.slice(1).map((_name, index) => names.slice(0, index + 1).join("."));
  });
  const parts = [...new Set(heads)].filter((path) => !path.startsWith("settings"));
  expect(parts.length).toBeGreaterThan(25);
  const queue = [...parts];
  const found: string[] = [];
  const work = async (): Promise<void> => {
    for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
      const refusal = await rendered({ ...always, [part]: null }).then(() => "", String);
      const isNamed = refusal.includes(`missing property '${part.split(".").at(-1) ?? ""}'`);
      if (isNamed === withFallback.test(part) || refusal.includes("nil pointer")) found.push(`${part}: ${refusal}`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  expect(found).toEqual([]);
});

test("every setting is in the settings of the pods, as it was given", async () => {
  const settings = flips().filter(({ path }) => path.startsWith("settings."));
  expect(settings.length).toBeGreaterThan(30);
  // Together, because one rendering shows each of them.
  const given = Object.fromEntries(settings.map(({ path, value }) => [path, value]));
  const objects = parseAllDocuments(
    await rendered({ ...always, ...given, "clusterIssuer.enabled": false, "nats.replicas": 3 }),
  );
  const maps = objects.map(
    (document) => document.toJS() as { readonly data?: Readonly<Record<string, string>> } | null,
  );
  const text = maps.find((object) => object?.data?.["settings.yaml"] !== undefined)?.data?.["settings.yaml"];
  expect(parse(text ?? "")).toEqual(valuesOf(given)["settings"]);
});
