import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../support/temp-folder.ts";
import { run, type RunResult } from "../../tools/run.ts";
import { partnerText } from "../installation.ts";

const program = join(import.meta.dirname, "..", "..", "..", "bin", "kubectl-heliograph.js");
const timeoutMs = 60_000;

test("kubectl heliograph diff asks the cluster about one folder, and nobody about two", async ({ onTestFinished }) => {
  const folder = await temporaryFolder("kubectl-diff");
  onTestFinished(() => folder.remove());
  for (const [name, types] of [["before", ["**"]] as const, ["after", ["payout.*"]] as const]) {
    await mkdir(join(folder.path, name));
    const text = partnerText("acme", "http://127.0.0.1:1/hooks/v1", { "subscriptions[0].types": types });
    await writeFile(join(folder.path, name, "acme.yaml"), text);
  }
  const kubectl = (...args: readonly string[]): Promise<RunResult> =>
    run(process.execPath, [program, ...args], { cwd: folder.path, env: { KUBECONFIG: "none.yaml" }, timeoutMs });
  const asked = await kubectl("-n", "shop", "diff", "./after", "--since", "24h");
  expect(asked).toMatchObject({ code: 10, stdout: "" });
  expect(asked.stderr).toContain("the API server cannot be used");
  const offline = await kubectl("diff", "./before", "./after");
  expect(offline).toMatchObject({ code: 1 });
  expect(offline.stdout).toContain("~ WebhookPartner/default/acme");
});
