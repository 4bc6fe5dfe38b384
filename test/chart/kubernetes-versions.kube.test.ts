import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temp-folder.ts";
import { foreignKinds, judged, rendered, variants } from "./judges.ts";
import { kubernetesVersions, pinnedSchemas, writeSchemas } from "./schemas.ts";

const oldest = "1.33";

let folder: TemporaryFolder;
let files: readonly string[];

beforeAll(async () => {
  folder = await temporaryFolder("kubernetes-versions");
  files = await Promise.all(
    Object.values(variants).map(async (values, index) => {
      const file = join(folder.path, `variant-${index}.yaml`);
      await writeFile(file, await rendered("helm", values));
      return file;
    }),
  );
});

afterAll(async () => {
  await folder?.remove();
});

describe("the chart, in all variants", () => {
  test.each(kubernetesVersions)("has only objects and fields that Kubernetes %s has", async (version) => {
    const schemas = join(folder.path, version);
    await writeSchemas(await pinnedSchemas(version), schemas);
    const location = join(schemas, "{{.ResourceKind}}{{.KindSuffix}}.json");
    const flags = ["-summary", "-schema-location", location, "-skip", foreignKinds.join(",")];
    expect(await judged("kubeconform", [...flags, ...files])).toBe("good");
  });
});

describe(`an API server that emulates Kubernetes ${oldest}`, () => {
  let kube: KubeApiHandle;

  beforeAll(async () => {
    kube = await startKubeApi({ flags: [`--emulated-version=${oldest}`] });
  });

  afterAll(async () => {
    await kube?.stop();
  });

  test("accepts the definitions and every object of the chart", async () => {
    const { stdout } = await kube.kubectl(["get", "--raw=/version"]);
    expect(JSON.parse(stdout)).toMatchObject({ emulationMinor: oldest.split(".")[1] });
    await kube.kubectl(["create", "namespace", "demo"]);
    for (const file of files.slice(0, 2)) {
      const { code, stderr } = await kube.kubectl(["apply", "--server-side", "--namespace=demo", `--filename=${file}`]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    }
  });
});
