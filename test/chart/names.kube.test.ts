import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run, succeed } from "../tools/run.ts";
import { copiedChart } from "./judges.ts";
import { valuesOf } from "./value-flips.ts";
import { chartFolder } from "./values-schema.ts";

/** Names that YAML reads as something else than text. */
const traps = ["no", "true", "null", "y", "off", "1234", "1e3", "0x1f", "0o17", "2026-01-01", "1-1"];
/** The same of texts that need not be names. */
const texts = ["~", "1_000", "*", "a: b", "a #b", "- a", "'", '"', "{a}"];
/** What no template contains by itself. */
const harmless = "harmless";

const renderMsMax = 30_000;
let folder: TemporaryFolder;
let helm: string;

beforeAll(async () => {
  [folder, helm] = await Promise.all([temporaryFolder("names"), resolveTool("helm")]);
});
afterAll(() => folder?.remove());

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly unknown[];
  readonly pattern?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Everything on, so that every template renders. */
const everything = {
  "nats.authSecret": "auth",
  "policy.acceptOpenGrants": true,
  "tests.enabled": true,
  "runtime.service.type": "LoadBalancer",
  "ingress.enabled": true,
  "httpRoute.enabled": true,
  "tlsRoute.enabled": true,
  "certManager.enabled": true,
  "monitoring.serviceMonitor.enabled": true,
  "monitoring.prometheusRule.enabled": true,
  "monitoring.dashboards.enabled": true,
  "operator.podDisruptionBudget.enabled": true,
  "networkPolicy.egressTo": [{ namespaceSelector: {} }],
};
/** Renderings that together reach every template. */
const variants: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "of a cluster of NATS with an autoscaler": {
    ...everything,
    "nats.replicas": 3,
    "runtime.autoscaling.enabled": true,
    "watch.allNamespaces": true,
  },
  "with KEDA and a NATS elsewhere": {
    ...everything,
    "runtime.autoscaling.keda.enabled": true,
    "nats.enabled": false,
    "externalNats.url": "tls://nats.example.com:4222",
    "nats.tls.existingSecret": "tls",
  },
};
/** Values whose form the chart itself reads, or which cannot be any text. */
const formed = new RegExp(
  String.raw`^(?:settings|policy|clusterIssuer\.grants|watch\.selector|runtime\.console|nameOverride|fullnameOverride)\b` +
    String.raw`|^(?:extraObjects|monitoring\.sloRules)\b|resources|extraInitContainers|Probe$`,
  "u",
);

/** A text, and what takes its place in a rendering. */
interface Word {
  readonly text: string;
  readonly word: string;
}

/** Every value of the schema that takes the text. */
function filled(schema: Schema, path: string, word: Word): Readonly<Record<string, unknown>> {
  if (formed.test(path)) return {};
  if (schema.properties !== undefined) {
    const inner = Object.entries(schema.properties).map(([name, child]) =>
      filled(child, path === "" ? name : `${path}.${name}`, word),
    );
    return Object.assign({}, ...inner) as Readonly<Record<string, unknown>>;
  }
  const value = valueOf(schema, word);
  return value === undefined ? {} : { [path]: value };
}

function valueOf(schema: Schema, { text, word }: Word): unknown {
  if (schema.enum !== undefined || schema.anyOf !== undefined) return undefined;
  if (schema.type === "object") return { [word]: word };
  if (schema.type === "array") {
    if (schema.items?.type === "object") return [{ name: word, mountPath: word }];
    return isText(schema.items, text) ? [word] : undefined;
  }
  return isText(schema, text) ? word : undefined;
}

/** Whether the schema takes the text, and the harmless one. */
function isText(of: Schema | undefined, text: string): boolean {
  const pattern = new RegExp(of?.pattern ?? "", "u");
  return of?.type === "string" && [text, harmless].every((one) => pattern.test(one));
}

/** The objects that helm renders, as a program reads them that knows the `yes` and `no` of YAML 1.1. */
async function objects(values: Readonly<Record<string, unknown>>, release: string): Promise<readonly unknown[]> {
  const file = join(folder.path, `${crypto.randomUUID()}.json`);
  await writeFile(file, JSON.stringify(valuesOf(values)));
  const args = ["template", release, chartFolder, `--namespace=${release}`, `--values=${file}`];
  const { code, stdout, stderr } = await run(helm, args, { timeoutMs: renderMsMax });
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout, { version: "1.1", uniqueKeys: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return withFiles(document.toJS() as Manifest | null);
  });
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** Also reads the files that a ConfigMap holds, as the programs do. */
function withFiles(manifest: Manifest | null): unknown {
  const data = manifest?.kind === "ConfigMap" ? Object.entries(manifest.data ?? {}) : [];
  const files = data.filter(([name]) => name.endsWith(".yaml")).map(([name, text]) => [name, parse(text) as unknown]);
  return { ...manifest, data: { ...manifest?.data, ...Object.fromEntries(files) } };
}

/** Replaces the harmless text everywhere, and leaves out what depends on every byte, or is made at random. */
function replaced(value: unknown, text: string): unknown {
  if (typeof value === "string") return value.replaceAll(harmless, text);
  if (Array.isArray(value)) return value.map((item) => replaced(item, text));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !/^checksum\/|\.(?:crt|key)$/u.test(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name.replaceAll(harmless, text), replaced(inner, text)]));
}

const schema = JSON.parse(readFileSync(join(chartFolder, "values.schema.json"), "utf8")) as Schema;
const grantOf = (text: string) => [{ namespaces: [text], tenants: [text], producers: [text] }];

/** What the chart makes of a text, and of a harmless one that is replaced by it afterwards. */
async function both(text: string, on: Readonly<Record<string, unknown>>, isName: boolean) {
  const render = async (word: string): Promise<readonly unknown[]> => {
    const values = {
      ...filled(schema, "", { text, word }),
      ...(isName ? { "settings.name": word } : {}),
      "policy.grants": grantOf(word),
    };
    const isPrefix = isName && /^[a-z]/u.test(text);
    const all = { ...values, fullnameOverride: isPrefix ? word : "safe", ...on };
    return (await objects(all, isName ? word : "release")).map((object) => replaced(object, text));
  };
  const [trapped, plain] = await Promise.all([render(text), render(harmless)]);
  return { trapped, plain };
}

/** Kinds without a namespace. */
const clusterKind =
  /^(?:ClusterRole|ClusterRoleBinding|CustomResourceDefinition|ValidatingAdmissionPolicy(?:Binding)?)$/u;

describe.each(Object.entries(variants))("the chart, %s,", (_variant, on) => {
  test.each(traps)("keeps the name %s a text in every template", async (text) => {
    const { trapped, plain } = await both(text, on, true);
    expect(plain.length).toBeGreaterThan(20);
    expect(trapped).toEqual(plain);
  });

  test("names the namespace of every object that has one", async () => {
    const manifests = (await both(harmless, on, true)).plain as readonly Manifest[];
    const unnamed = manifests.filter(
      ({ kind, metadata }) => !clusterKind.test(kind) && metadata.namespace !== harmless,
    );
    expect(unnamed.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  });
});

test.each(texts)("the chart keeps the text %s as it is", async (text) => {
  const { trapped, plain } = await both(text, variants["of a cluster of NATS with an autoscaler"] ?? {}, false);
  expect(trapped).toEqual(plain);
});

describe("a chart that contains this one", () => {
  test.each(["helm", "helm4"] as const)(
    "turns it on and off by a condition with %s, and sets globals",
    async (tool) => {
      const parent = join(folder.path, tool);
      await mkdir(join(parent, "charts"), { recursive: true });
      await copiedChart(join(parent, "charts"));
      const dependencies = [{ name: "heliograph", version: "0.1.0", condition: "heliograph.enabled" }];
      const head = { apiVersion: "v2", name: "platform", version: "1.0.0", dependencies };
      await writeFile(join(parent, "Chart.yaml"), JSON.stringify(head));
      await writeFile(
        join(parent, "values.yaml"),
        JSON.stringify({ global: { team: "a" }, heliograph: { enabled: true } }),
      );
      const render = async (isEnabled: boolean): Promise<string> => {
        const args = ["template", "hg", parent, "--namespace=demo", `--set=heliograph.enabled=${isEnabled}`];
        return succeed(await resolveTool(tool), args, { timeoutMs: renderMsMax });
      };
      expect(await render(true)).toContain("name: hg-heliograph-runtime");
      expect(await render(false)).not.toContain("heliograph-runtime");
    },
  );
});
