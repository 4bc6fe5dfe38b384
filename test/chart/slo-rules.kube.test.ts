import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { runProgram } from "../support/heliograph-process.ts";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { prometheusRuleDefinition } from "../operator/rules/prometheus-rule-definition.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { judged } from "./judges.ts";
import { chartFolder } from "./values-schema.ts";

let folder: TemporaryFolder;
let file: string;

beforeAll(async () => {
  folder = await temporaryFolder("slo-rules");
  file = join(folder.path, "slo-rules.yaml");
  await writeFile(file, (await runProgram(["rules", "docs/examples", "--tenant", "lumen"])).stdout);
});
afterAll(() => folder.remove());

describe("printed alert rules", () => {
  test("pass promtool's check, its warnings included", async () => {
    expect(await judged("promtool", ["check", "rules", "--lint=all", "--lint-fatal", file])).toBe("good");
  });

  test("contain no names of Prometheus 3 that the stores have, and pass promtool's check too", async () => {
    const catalog = await readFile("docs/examples/metric-catalog.yaml", "utf8");
    const renamed = catalog
      .replaceAll(/^(\s+name: )([a-z_]+_(?:total|milliseconds|seconds|lag))$/gmu, '$1"übung.$2 {\\"x\\"}"')
      .replaceAll("label: outcome", 'label: "http.result \\"é\\""')
      .replaceAll("environment: env", 'environment: "deployment.environment"');
    const place = join(folder.path, "utf8-catalog.yaml");
    await writeFile(place, renamed);
    const { code, stdout, stderr } = await runProgram(["rules", place, "--tenant", "lumen"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(renamed.match(/übung\./gu)?.length).toBeGreaterThan(10);
    expect(renamed).toContain("http.result");
    expect(stdout).not.toMatch(/übung|http\.result|deployment\.environment/u);
    const plain = join(folder.path, "plain-catalog.yaml");
    await writeFile(plain, catalog);
    expect(stdout).toBe((await runProgram(["rules", plain, "--tenant", "lumen"])).stdout);
    const rules = join(folder.path, "utf8-rules.yaml");
    await writeFile(rules, stdout);
    expect(await judged("promtool", ["check", "rules", "--lint=all", "--lint-fatal", rules])).toBe("good");
  });

  test("are in the chart's ConfigMap byte for byte, where the recipe for vmalert mounts them", async () => {
    const template = ["--show-only", "templates/monitoring/slo-rules.yaml"];
    const value = ["--set-file", `monitoring.sloRules=${file}`];
    const { stdout, stderr } = await run(
      await resolveTool("helm"),
      ["template", "heliograph", chartFolder, "--namespace", "heliograph", ...template, ...value],
      { timeoutMs: 60_000 },
    );
    const recipe = await readFile("docs/recipes/vmalert.yaml", "utf8");
    expect(stderr).toBe("");
    const { metadata, data } = parse(stdout) as ConfigMap;
    expect(data).toEqual({ "slo-rules.yaml": await readFile(file, "utf8") });
    expect(recipe).toContain(`configMap: {name: ${metadata.name}}`);
    expect(recipe).toContain("-rule=/etc/slo-rules/slo-rules.yaml");
  });
});

const servedMsMax = 30_000;
describe("the commands of docs/how-to/slo-rules.md", () => {
  let kube: KubeApiHandle;
  beforeAll(async () => {
    kube = await startKubeApi();
    await kubectl(["apply", "--filename=crds/metric-catalog.yaml", "--filename=crds/query-class-quota.yaml"]);
    await kubectl(["apply", "--filename=-"], JSON.stringify(prometheusRuleDefinition));
    await kubectl(["create", "namespace", "team-metrics"]);
    const all = ["get", "metriccatalogs,queryclassquotas,prometheusrules", "--all-namespaces"];
    const isServed = async (): Promise<boolean> => (await kube.kubectl(all)).code === 0;
    await waitFor(isServed, { timeoutMs: servedMsMax, what: "the definitions to be served" });
  });
  afterAll(async () => kube?.stop());

  async function kubectl(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await kube.kubectl(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  test("make of the resources of a cluster what they make of files, and the cluster takes it", async () => {
    for (const name of ["metric-catalog", "query-class-quota"]) {
      const text = await readFile(`docs/examples/${name}.yaml`, "utf8");
      await kubectl(["apply", "--filename=-"], text.replaceAll("namespace: default", "namespace: team-metrics"));
    }
    const resources = join(folder.path, "resources.yaml");
    const get = ["get", "metriccatalogs,queryclassquotas", "--namespace", "team-metrics", "--output=yaml"];
    await writeFile(resources, await kubectl(get));
    const rest = ["--tenant", "lumen", "--output=prometheusrule"];
    const printed = await runProgram(["rules", resources, ...rest]);
    const fromFolder = await runProgram(["rules", "docs/examples", ...rest]);
    expect(printed).toEqual({
      ...fromFolder,
      stdout: fromFolder.stdout.replaceAll(/default(?=\/)|(?<=namespace: )default/gu, "team-metrics"),
    });
    await kubectl(["apply", "--filename=-"], printed.stdout);
    expect(await kubectl(["get", "prometheusrules", "--namespace", "team-metrics", "--output=name"])).toBe(
      "prometheusrule.monitoring.coreos.com/operations-slos\n",
    );
  });
});

interface ConfigMap {
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
}
