import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectCluster } from "../../../cli/api/cluster-connection.ts";
import { type KubeApiHandle, startKubeApi } from "../../support/kube-api.ts";

let api: KubeApiHandle;

beforeAll(async () => {
  api = await startKubeApi();
});

afterAll(() => api?.stop());

const labels = { "app.kubernetes.io/part-of": "heliograph", "app.kubernetes.io/component": "runtime" };

async function kubectl(args: readonly string[], stdin?: object): Promise<void> {
  const { code, stderr } = await api.kubectl(args, stdin === undefined ? "" : JSON.stringify(stdin));
  if (code !== 0) throw new Error(stderr);
}

/** A namespace with a service account. */
async function team(namespace: string): Promise<string> {
  await kubectl(["create", "namespace", namespace]);
  await kubectl(["--namespace", namespace, "create", "serviceaccount", "heliograph-cli"]);
  return namespace;
}

/** The Services of a release, and one pod. No kubelet runs here, so that the test writes the pod's status. */
async function release(namespace: string, name: string, appProtocol: string, isReady: boolean): Promise<void> {
  const own = { ...labels, "app.kubernetes.io/instance": name };
  const service = (suffix: string, port: object) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: `${name}${suffix}`, namespace, labels: own },
    spec: { selector: own, ports: [port] },
  });
  const container = { name: "runtime", image: "x", ports: [{ name: "http", containerPort: 8080 }] };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `${name}-0`, namespace, labels: own },
    spec: { containers: [container], automountServiceAccountToken: false },
  };
  const items = [
    service("", { name: "http", port: 80, appProtocol }),
    service("-runtime", { name: "admin", port: 9090 }),
  ];
  await kubectl(["apply", "--filename=-"], { apiVersion: "v1", kind: "List", items });
  await kubectl(["--namespace", namespace, "create", "serviceaccount", "default"]).catch(() => undefined);
  await kubectl(["apply", "--filename=-"], pod);
  const patch = { status: { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] } };
  const flags = ["--subresource=status", "--type=merge", `--patch=${JSON.stringify(patch)}`];
  await kubectl(["--namespace", namespace, "patch", `pod/${name}-0`, ...flags]);
}

const target = (namespace: string, more: object = {}) => ({
  kubeconfig: api.kubeconfig,
  namespace,
  serviceAccount: "heliograph-cli",
  ...more,
});

function claimsOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

describe("a connection through a cluster", () => {
  test("finds the release beside the account, and has a token of the account for the audience heliograph", async () => {
    const namespace = await team("both");
    await release(namespace, "heliograph", "http", true);
    const connection = await connectCluster(target(namespace));
    try {
      expect(connection.url).toMatch(/^http:\/\/localhost:\d+$/u);
      expect(connection.serverName).toBe("heliograph.both.svc");
      const token = await connection.token();
      expect(claimsOf(token)).toMatchObject({
        aud: ["heliograph"],
        sub: "system:serviceaccount:both:heliograph-cli",
      });
      expect(await connection.token()).toBe(token);
    } finally {
      await connection.close();
    }
  });

  test("finds the release in the namespace of --release-namespace, with https", async () => {
    const namespace = await team("shop");
    await kubectl(["create", "namespace", "elsewhere"]);
    await release("elsewhere", "hg", "https", true);
    const connection = await connectCluster(target(namespace, { releaseNamespace: "elsewhere" }));
    await connection.close();
    expect(connection.url).toMatch(/^https:\/\/localhost:\d+$/u);
    expect(connection.serverName).toBe("hg.elsewhere.svc");
  });

  const refusals = [
    {
      name: "a namespace without a release",
      make: async () => target(await team("empty")),
      says: "no Heliograph release found in empty and heliograph; set --release-namespace",
    },
    {
      name: "two releases in one namespace",
      make: async () => {
        const namespace = await team("twice");
        await release(namespace, "one", "http", true);
        await release(namespace, "two", "http", true);
        return target(namespace);
      },
      says: "twice has several releases (one, two)",
    },
    {
      name: "a release without a ready pod",
      make: async () => {
        const namespace = await team("unready");
        await release(namespace, "heliograph", "http", false);
        return target(namespace);
      },
      says: "no pod of the Service unready/heliograph is ready (1 exist)",
    },
    {
      name: "a service account that does not exist",
      make: async () => {
        const namespace = await team("nobody");
        await release(namespace, "heliograph", "http", true);
        return target(namespace, { serviceAccount: "missing" });
      },
      says: "create the service account, or select another with --service-account",
    },
    {
      name: "an unknown context",
      make: () => Promise.resolve(target("any", { context: "nowhere" })),
      says: 'the kubeconfig has no context "nowhere"',
    },
  ];

  test.each(refusals)("says what is missing: $name", async ({ make, says }) => {
    const wanted = await make();
    const error: unknown = await connectCluster(wanted).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: "StartError", fault: "kubernetes" });
    expect((error as Error).message).toContain(says);
  });
});
