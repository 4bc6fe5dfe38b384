import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { waitFor } from "../support/wait.ts";
import { rendered } from "./judges.ts";

const namespace = "demo";
const account = "system:serviceaccount:demo:hg-heliograph-operator";
const policyMsMax = 30_000;
const templates = ["templates/operator/rbac.yaml", "templates/admission-policies.yaml"];

let kube: KubeApiHandle;

beforeAll(async () => {
  kube = await startKubeApi();
  for (const name of [namespace, "shop"]) await mustRun(["create", "namespace", name]);
  // In a watched namespace the operator reads every Secret, so that here another one is watched.
  await mustRun(["apply", "-f", "-"], await rendered("helm", ["watch.namespaces[0]=shop"], templates));
  await mustRun(["--namespace", namespace, "create", "serviceaccount", "victim"]);
  await waitFor(async () => (await created(secret("other", "Opaque"))).includes("ValidatingAdmissionPolicy"), {
    timeoutMs: policyMsMax,
    what: "the policy to be in force",
  });
});

afterAll(async () => {
  await kube?.stop();
});

async function mustRun(args: readonly string[], input = ""): Promise<string> {
  const { code, stdout, stderr } = await kube.kubectl(args, input);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

const secret = (name: string, type: string, annotations: Readonly<Record<string, string>> = {}): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, annotations },
  type,
});
const lease = (name: string): object => ({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name } });

/** What the API server says when the operator creates an object: `created`, or the reason of the policy. */
async function created(object: object, as = account): Promise<string> {
  const args = [
    "--namespace",
    namespace,
    "create",
    "--dry-run=server",
    `--as=${as}`,
    "--as-group=system:serviceaccounts",
  ];
  const { code, stderr } = await kube.kubectl([...args, "-f", "-"], JSON.stringify(object));
  return code === 0 ? "created" : stderr.trim();
}

const refused = expect.stringContaining("the operator creates only its Lease and the Secrets of its configuration");

describe("the account of the operator", () => {
  test.each([
    ["list", "secrets", "no"],
    ["watch", "secrets", "no"],
    ["get", "secrets", "no"],
    ["delete", "secrets", "no"],
    ["list", "secrets/hg-heliograph-config-00", "yes"],
    ["watch", "secrets/hg-heliograph-config-31", "yes"],
    ["list", "secrets/hg-heliograph-config-32", "no"],
    ["delete", "secrets/hg-heliograph-keys-07", "yes"],
    ["list", "secrets/hg-heliograph-nats-auth", "no"],
    ["create", "serviceaccounts/victim --subresource=token", "no"],
  ])("may %s %s: %s", async (verb, resource, answer) => {
    const question = ["auth", "can-i", verb, ...resource.split(" "), `--as=${account}`, "--namespace", namespace];
    expect((await kube.kubectl(question)).stdout.trim()).toBe(answer);
  });

  const token = { "kubernetes.io/service-account.name": "victim" };
  test.each<[string, object]>([
    ["a token of a service account", secret("mine", "kubernetes.io/service-account-token", token)],
    ["one under the name of a shard", secret("hg-heliograph-config-00", "kubernetes.io/service-account-token", token)],
    ["any other Secret", secret("hg-heliograph-config-32", "heliograph.dev/config")],
    ["another Lease", lease("hg-heliograph-runtime")],
  ])("cannot create %s", async (_what, object) => {
    expect(await created(object)).toEqual(refused);
  });

  test.each<[string, object]>([
    ["a shard", secret("hg-heliograph-config-31", "heliograph.dev/config")],
    ["a shard of keys", secret("hg-heliograph-keys-00", "heliograph.dev/config")],
    ["its Lease", lease("hg-heliograph-operator")],
  ])("creates %s", async (_what, object) => {
    expect(await created(object)).toBe("created");
  });

  test("cannot turn a shard into a token, by update or by apply", async () => {
    const shard = secret("hg-heliograph-config-00", "heliograph.dev/config");
    await mustRun(["--namespace", namespace, "create", "-f", "-"], JSON.stringify(shard));
    const minted = JSON.stringify(secret("hg-heliograph-config-00", "kubernetes.io/service-account-token", token));
    const attempt = async (...args: readonly string[]): Promise<string> =>
      (await kube.kubectl(["--namespace", namespace, ...args, `--as=${account}`, "-f", "-"], minted)).stderr;
    expect(await attempt("replace")).toContain("type: Invalid value");
    expect(await attempt("apply", "--server-side", "--force-conflicts")).toContain("cannot patch resource");
    // Deleted and made again, as the operator does with a Secret of another type.
    await mustRun(["--namespace", namespace, "delete", "secret", "hg-heliograph-config-00", `--as=${account}`]);
    expect(await attempt("create")).toEqual(refused);
  });

  test("is the only one that the policy limits", async () => {
    expect(await created(secret("mine", "Opaque"), "admin-of-demo")).toContain("cannot create resource");
    await mustRun(["--namespace", namespace, "create", "secret", "generic", "mine", "--from-literal=a=b"]);
  });
});
