import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { writeManifests } from "./manifests.ts";
import { releasedImage } from "./names.ts";

const namespace = "webhooks";

let folder: TemporaryFolder;
let api: KubeApiHandle;
let manifests: string;

beforeAll(async () => {
  folder = await temporaryFolder("manifests");
  manifests = join(folder.path, "manifests");
  await writeManifests(manifests, { namespace });
  api = await startKubeApi();
});

afterAll(async () => {
  await api?.stop();
  await folder?.remove();
});

async function kubectl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await api.kubectl(args);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  return stdout;
}

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

async function objectsOf(path: string): Promise<readonly KubernetesObject[]> {
  const documents = parseAllDocuments(await readFile(path, "utf8"));
  return documents.map((document) => document.toJS() as KubernetesObject);
}

const deployed = "{.spec.replicas} {.spec.template.spec.containers[0].image}";
const runtime = ["get", "deployment", "heliograph-runtime", `--namespace=${namespace}`];

describe("the plain manifests", () => {
  test("are the same in each rendering, but for the Secrets, which kustomization.yaml does not name", async () => {
    const again = join(folder.path, "again");
    await writeManifests(again, { namespace });
    for (const name of ["kustomization.yaml", "namespace.yaml", "definitions.yaml", "heliograph.yaml"]) {
      const text = await readFile(join(manifests, name), "utf8");
      expect(await readFile(join(again, name), "utf8")).toBe(text);
      expect(text).not.toMatch(/^kind: Secret$|helm\.sh|: Helm$/mu);
    }
    const secrets = await objectsOf(join(manifests, "secrets.yaml"));
    expect(secrets.length).toBeGreaterThan(0);
    expect(new Set(secrets.map(({ kind }) => kind))).toEqual(new Set(["Secret"]));
  });

  test("are applied by kubectl apply -k to a real API server, every object of them", async () => {
    await kubectl("apply", `--kustomize=${manifests}`);
    await kubectl("apply", `--filename=${join(manifests, "secrets.yaml")}`);
    for (const name of ["definitions.yaml", "heliograph.yaml", "secrets.yaml"]) {
      const file = join(manifests, name);
      const found = await kubectl("get", `--filename=${file}`, "--output=name");
      expect(found.trim().split("\n").length).toBe((await objectsOf(file)).length);
    }
    expect(await kubectl(...runtime, `--output=jsonpath=${deployed}`)).toBe(`2 ${releasedImage}`);
  });

  test("take a patch and another image of an overlay", async () => {
    const overlay = join(folder.path, "overlay");
    await mkdir(overlay);
    const [name = ""] = releasedImage.split(":");
    const patch = { op: "replace", path: "/spec/replicas", value: 5 };
    const kustomization = {
      resources: ["../manifests"],
      images: [{ name, newName: "registry.example.com/heliograph", newTag: "mine" }],
      patches: [{ target: { kind: "Deployment", name: "heliograph-runtime" }, patch: JSON.stringify([patch]) }],
    };
    await writeFile(join(overlay, "kustomization.yaml"), stringify(kustomization));
    await kubectl("apply", `--kustomize=${overlay}`);
    const wanted = "5 registry.example.com/heliograph:mine";
    expect(await kubectl(...runtime, `--output=jsonpath=${deployed}`)).toBe(wanted);
  });
});
