import { afterAll, beforeAll, expect, test } from "vitest";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { chartFolder } from "./values-schema.ts";

const helmMsMax = 60_000;
let api: KubeApiHandle;
beforeAll(async () => {
  api = await startKubeApi();
});
afterAll(async () => {
  await api?.stop();
});

/** Runs a program of Helm for a release, in the namespace of its name. @throws Error with what helm said */
async function helm(program: "helm" | "helm4", command: string, release: string, flags: readonly string[] = []) {
  const chart = command === "uninstall" ? [] : [chartFolder];
  const where = ["--kubeconfig", api.kubeconfig, "--namespace", release];
  const args = [command, release, ...chart, ...where, ...flags];
  const { code, stderr } = await run(await resolveTool(program), args, { timeoutMs: helmMsMax });
  if (code !== 0) throw new Error(stderr);
}

const owner = "--output=jsonpath={.items[*].metadata.annotations.meta\\.helm\\.sh/release-name}";
const owners = async (): Promise<string> => (await api.kubectl(["get", "crd", owner])).stdout;

test.each(["helm", "helm4"] as const)(
  "after an uninstall, %s installs another release that takes the definitions over",
  async (program) => {
    const [first, second] = [`${program}-first`, `${program}-second`];
    await helm(program, "install", first, ["--create-namespace", "--take-ownership"]);
    await helm(program, "uninstall", first);
    expect(await owners()).toBe(`${first} ${first} ${first} ${first}`);
    await expect(helm(program, "install", second, ["--create-namespace"])).rejects.toThrow(
      "invalid ownership metadata",
    );
    await helm(program, "install", second, ["--create-namespace", "--take-ownership"]);
    expect(await owners()).toBe(`${second} ${second} ${second} ${second}`);
    await helm(program, "upgrade", second);
  },
);
