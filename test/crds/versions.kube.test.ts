import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kinds } from "../../crds/types/schemas.ts";
import { unpackPreviousRelease } from "../e2e/previous-release.ts";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { definitionsIn, type ServedVersions, type VersionedDefinition, withVersions } from "./api-versions.ts";
import { plainObject } from "./valid-objects.ts";

const [alpha, beta] = ["v1alpha1", "v1beta1"];
const servedMsMax = 30_000;
const documentedMsMax = 60_000;
const storedFolder = fileURLToPath(new URL("stored/v1alpha1", import.meta.url));

interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

let kube: KubeApiHandle;
let folder: TemporaryFolder;
let previous: readonly VersionedDefinition[];
const today = definitionsIn();
const plurals = today.map(({ metadata }) => metadata.name).join(",");

beforeAll(async () => {
  folder = await temporaryFolder("versions");
  kube = await startKubeApi();
  previous = definitionsIn((await unpackPreviousRelease(join(folder.path, "release"))).definitions);
});

afterAll(async () => {
  await kube?.stop();
  await folder?.remove();
});

async function mustRun(args: readonly string[], input?: object): Promise<string> {
  const { code, stdout, stderr } = await kube.kubectl(args, input === undefined ? "" : JSON.stringify(input));
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

const listOf = (items: readonly object[]): object => ({ apiVersion: "v1", kind: "List", items });

/** Applies definitions as the chart does, and waits until every kind is served in these versions. */
async function define(definitions: readonly VersionedDefinition[]): Promise<void> {
  await mustRun(["apply", "--server-side", "--force-conflicts", "-f", "-"], listOf(definitions));
  const names = definitions.flatMap(({ metadata, spec }) =>
    spec.versions.map((version) => resourceOf(metadata.name, version.name)),
  );
  await waitFor(async () => (await kube.kubectl(["get", names.join(","), "--output=name"])).code === 0, {
    timeoutMs: servedMsMax,
    what: `${names.join(", ")} to be served`,
  });
}

/** `webhookpartners.v1beta1.heliograph.dev`, as kubectl takes it. */
const resourceOf = (name: string, version: string): string => name.replace(".", `.${version}.`);

/** Objects of the first release, which had no event catalogs, that together have every field that it stored. */
function storedObjects(): readonly StoredObject[] {
  const stored = kinds.filter((kind) => kind !== "EventCatalog");
  return stored.flatMap((kind) => {
    const lines = readFileSync(join(storedFolder, "0.1.0", `${kind}.jsonl`), "utf8")
      .trimEnd()
      .split("\n");
    const seen = new Set<string>();
    const specs = lines
      .map((line) => JSON.parse(line) as StoredObject["spec"])
      .filter((spec) => {
        const fields = fieldsOf(spec, "spec").filter((field) => !seen.has(field));
        for (const field of fields) seen.add(field);
        return fields.length > 0;
      });
    return specs.map((spec, index) => ({ ...plainObject(kind, {}, `${kind.toLowerCase()}-${index}`), spec }));
  });
}

/** Paths of all fields of a value; items of a list share one. */
function fieldsOf(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => fieldsOf(one, `${path}[]`));
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, below]) => fieldsOf(below, `${path}.${name}`));
}

/** Every object of the kinds of the previous release as the API server returns it in a version. */
async function readAll(version: string): Promise<readonly StoredObject[]> {
  const names = previous.map(({ metadata }) => resourceOf(metadata.name, version)).join(",");
  const { items } = JSON.parse(await mustRun(["get", names, "--output=json"])) as {
    readonly items: readonly StoredObject[];
  };
  return items;
}

const specsOf = (objects: readonly StoredObject[]): Readonly<Record<string, object>> =>
  Object.fromEntries(objects.map(({ metadata, spec }) => [metadata.name, spec]));

const serve = (versions: ServedVersions): Promise<void> =>
  define(today.map((definition) => withVersions(definition, versions)));

/** What the API server says that etcd may hold. */
async function storedVersions(): Promise<readonly string[]> {
  const path = "{range .items[*]}{.status.storedVersions}{' '}{end}";
  return (await mustRun(["get", "crd", ...plurals.split(","), `--output=jsonpath=${path}`])).trim().split(" ");
}

/** Runs the commands that docs/reference/versions.md has below a heading, as an administrator does. */
async function runDocumented(heading: string): Promise<void> {
  const page = readFileSync(fileURLToPath(new URL("../../docs/reference/versions.md", import.meta.url)), "utf8");
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const commands = /```sh\n(?<commands>[^`]+)```/u.exec(section)?.groups?.["commands"] ?? "false";
  const path = `${dirname(await resolveTool("kubectl"))}:${process.env["PATH"]}`;
  const env = { KUBECONFIG: kube.kubeconfig, PATH: path };
  const { code, stderr } = await run("sh", ["-euc", commands], { env, timeoutMs: documentedMsMax });
  if (code !== 0) throw new Error(`${commands} ended with ${code}: ${stderr}`);
}

describe("objects that the release before this one stored", () => {
  const objects = storedObjects();
  /** As the release before this one reads them. */
  let specs: Readonly<Record<string, object>>;

  test("are read, edited and stored by the definitions of today, and keep every field", async () => {
    await define(previous);
    await mustRun(["create", "-f", "-"], listOf(objects));
    specs = specsOf(await readAll(alpha));
    expect(specs).toMatchObject(specsOf(objects));
    await define(today);
    expect(specsOf(await readAll(alpha))).toEqual(specs);
    await mustRun(["annotate", plurals, "--all", "edited=today"]);
    const edited = await readAll(alpha);
    expect(specsOf(edited)).toEqual(specs);
    expect(edited.filter(({ metadata }) => metadata.annotations?.["edited"] !== "today")).toEqual([]);
  });

  test("are read and edited as v1beta1 beside v1alpha1, and are one object in both", async () => {
    await serve({ served: [alpha, beta], stored: alpha });
    const asBeta = await readAll(beta);
    expect(new Set(asBeta.map(({ apiVersion }) => apiVersion))).toEqual(new Set([`heliograph.dev/${beta}`]));
    expect(specsOf(asBeta)).toEqual(specs);
    const names = today.map(({ metadata }) => resourceOf(metadata.name, beta)).join(",");
    await mustRun(["annotate", "--overwrite", names, "--all", "edited=beta"]);
    const asAlpha = await readAll(alpha);
    expect(specsOf(asAlpha)).toEqual(specs);
    expect(asAlpha.filter(({ metadata }) => metadata.annotations?.["edited"] !== "beta")).toEqual([]);
    expect(await storedVersions()).toEqual(today.map(() => `["${alpha}"]`));
  });

  test("are stored as v1beta1 by one write each, after which v1alpha1 can go", async () => {
    await serve({ served: [alpha, beta], stored: beta });
    expect(await storedVersions()).toEqual(today.map(() => `["${alpha}","${beta}"]`));
    // A version that etcd may hold cannot go.
    const withoutAlpha = today.map((definition) => withVersions(definition, { served: [beta], stored: beta }));
    await expect(
      mustRun(["apply", "--server-side", "--force-conflicts", "-f", "-"], listOf(withoutAlpha)),
    ).rejects.toThrow("must remain in spec.versions until a storage migration");
    await runDocumented("The path to v1");
    await define(withoutAlpha);
    expect(specsOf(await readAll(beta))).toEqual(specs);
    expect(await storedVersions()).toEqual(today.map(() => `["${beta}"]`));
  });
});

describe("definitions that a rollback makes older", () => {
  const name = "webhookpartners.heliograph.dev";
  const [older, newer] = [
    today.filter(({ metadata }) => metadata.name === name),
    today.filter(({ metadata }) => metadata.name === name).map(withNewField),
  ];
  const priority = (): Promise<string> => mustRun(["get", name, "rolled-back", "--output=jsonpath={.spec.priority}"]);

  beforeAll(async () => {
    await mustRun(["delete", "crd", ...plurals.split(",")]);
    await define(newer);
    await mustRun(["create", "-f", "-"], plainObject("WebhookPartner", { priority: 7 }, "rolled-back"));
  });

  test("hide a field that they do not have, and show it again after an upgrade", async () => {
    expect(await priority()).toBe("7");
    await define(older);
    await waitFor(async () => (await priority()) === "", { timeoutMs: servedMsMax, what: "the field to be hidden" });
    await define(newer);
    await waitFor(async () => (await priority()) === "7", { timeoutMs: servedMsMax, what: "the field to be back" });
  });

  test("lose that field with the next write of the object, a status included", async () => {
    await define(older);
    await waitFor(async () => (await priority()) === "", { timeoutMs: servedMsMax, what: "the field to be hidden" });
    const patch = JSON.stringify({ status: { observedGeneration: 1 } });
    await mustRun(["patch", name, "rolled-back", "--subresource=status", "--type=merge", "--patch", patch]);
    await define(newer);
    const sentinel = plainObject("WebhookPartner", { priority: 3 }, "sentinel");
    const kept = ["create", "--dry-run=server", "--validate=ignore", "--output=jsonpath={.spec.priority}", "-f", "-"];
    await waitFor(async () => (await mustRun(kept, sentinel)) === "3", {
      timeoutMs: servedMsMax,
      what: "the newer definition",
    });
    expect(await priority()).toBe("");
  });
});

interface SchemaWithSpec {
  readonly openAPIV3Schema: {
    readonly properties: { readonly spec: { readonly properties: object } };
  };
}

/** The definition with an optional `spec.priority`, as a later release could have it. */
function withNewField(definition: VersionedDefinition): VersionedDefinition {
  const later = structuredClone(definition);
  for (const { schema } of later.spec.versions) {
    const { openAPIV3Schema } = schema as SchemaWithSpec;
    Object.assign(openAPIV3Schema.properties.spec.properties, { priority: { type: "integer" } });
  }
  return later;
}
