import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KubeApiHandle, startKubeApi } from "../../support/kube-api.ts";
import { waitFor } from "../../support/wait.ts";
import { resolveTool } from "../../tools/resolve.ts";
import { commandBlocks } from "../../pages/command-blocks.ts";
import { run, type RunResult } from "../../tools/run.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const program = join(root, "bin", "kubectl-heliograph.js");
const commandMsMax = 60_000;
const examples = ["partner.yaml", "catalog.yaml", "quota.yaml"].map(
  (file) => `--filename=${join(root, "docs", "examples", "cluster", file)}`,
);

let api: KubeApiHandle;

async function kubectl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await api.kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

beforeAll(async () => {
  api = await startKubeApi();
  await kubectl("apply", "--server-side", `--filename=${join(root, "crds")}`);
  const served = () => kubectl("get", "webhookpartners,metriccatalogs,queryclassquotas,eventcatalogs");
  await waitFor(async () => (await served(), true), { timeoutMs: 60_000, what: "the definitions to be served" });
  for (const namespace of ["shop", "other", "empty"]) await kubectl("create", "namespace", namespace);
  await kubectl("--namespace=shop", "apply", ...examples);
  await kubectl("--namespace=other", "apply", ...examples.slice(0, 1));
});

afterAll(() => api?.stop());

function kubectlHeliograph(...args: readonly string[]): Promise<RunResult> {
  return run(process.execPath, [program, ...args], { env: { KUBECONFIG: api.kubeconfig }, timeoutMs: commandMsMax });
}

test("resources lists what no operator has looked at, with the reason, and ends with 1", async () => {
  const { code, stdout } = await kubectlHeliograph("-n", "shop", "resources");
  expect(code).toBe(1);
  const [head = "", ...rows] = stdout.trimEnd().split("\n");
  expect(head.split(/\s{2,}/u)).toEqual(["NAMESPACE", "KIND", "NAME", "READY", "REASON", "MESSAGE"]);
  expect(rows.map((row) => row.split(/\s{2,}/u).slice(0, 5))).toEqual([
    ["shop", "WebhookPartner", "recipient", "Unknown", "NoOperator"],
    ["shop", "MetricCatalog", "shop", "Unknown", "NoOperator"],
    ["shop", "QueryClassQuota", "shop", "Unknown", "NoOperator"],
  ]);
  expect(rows[0]).toContain("Operators look only at the namespaces that they watch");
});

test("resources of every namespace are one line of JSON each, with what is ready", async () => {
  const ready = { status: { conditions: [{ type: "Ready", status: "True", reason: "Ready", message: "", ...times }] } };
  const flags = ["--subresource=status", "--type=merge", `--patch=${JSON.stringify(ready)}`];
  await kubectl("--namespace=other", "patch", "webhookpartner/recipient", ...flags);
  const { stdout } = await kubectlHeliograph("resources", "-A", "-o", "json");
  const lines = stdout.trimEnd().split("\n");
  const places = lines.map((line) => (JSON.parse(line) as { metadata: { namespace: string } }).metadata.namespace);
  expect(places.toSorted()).toEqual(["other", "shop", "shop", "shop"]);
  expect(await kubectlHeliograph("resources", "-n", "other")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\bTrue +Ready +-\n$/u) as string,
  });
});

const times = { lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1 };

test("resources needs no other rights than those of the page", async () => {
  await kubectl("create", "namespace", "heliograph");
  const roles = await readFile(join(root, "docs", "examples", "cluster", "access.yaml"), "utf8");
  // The client of the plugin cannot impersonate a group.
  const bound = roles.replaceAll("kind: Group, name: shop-team", `kind: User, name: ${member.as}`);
  expect(bound).not.toBe(roles);
  expect((await api.kubectl(["apply", "--filename=-"], bound)).stderr).toBe("");
  const config = JSON.parse(await readFile(api.kubeconfig, "utf8")) as { users: { user: object }[] };
  const users = config.users.map((one) => ({ ...one, user: { ...one.user, ...member } }));
  const path = `${api.kubeconfig}-member`;
  await writeFile(path, JSON.stringify({ ...config, users }));
  const args = [program, "-n", "shop", "resources"];
  const { code, stdout } = await run(process.execPath, args, { env: { KUBECONFIG: path }, timeoutMs: commandMsMax });
  expect([code, stdout.trimEnd().split("\n").length]).toEqual([1, 4]);
  const others = await run(process.execPath, [program, "-n", "other", "resources"], {
    env: { KUBECONFIG: path },
    timeoutMs: commandMsMax,
  });
  expect(others.stderr).toContain("forbidden");
});

const member = { as: "somebody" };

test("the commands of the page set statuses back after an uninstall", async () => {
  const block = commandBlocks("docs/how-to/install.md").find(({ first }) =>
    first.startsWith("for kind in webhookpartners"),
  );
  const { code, stderr } = await run("bash", ["-ec", block?.text ?? "false"], {
    env: { KUBECONFIG: api.kubeconfig, PATH: `${dirname(await resolveTool("kubectl"))}:${process.env["PATH"] ?? ""}` },
    timeoutMs: commandMsMax,
  });
  expect([code, stderr]).toEqual([0, ""]);
  const { stdout } = await kubectlHeliograph("resources", "-A");
  expect(stdout.match(/Unknown +NoOperator/gu)).toHaveLength(4);
});

test("a namespace without resources is said on the standard error, with 0", async () => {
  expect(await kubectlHeliograph("resources", "-n", "empty")).toEqual({
    code: 0,
    stdout: "",
    stderr: "No resources in the namespace empty.\n",
  });
});

test("-n and -A exclude each other", async () => {
  expect(await kubectlHeliograph("resources", "-n", "shop", "-A")).toMatchObject({
    code: 2,
    stderr: "heliograph: --namespace and --all-namespaces are mutually exclusive.\n",
  });
});
