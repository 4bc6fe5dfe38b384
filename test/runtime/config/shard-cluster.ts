import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent, request } from "undici";
import { shardNames, shardSecretName, type ShardCounts } from "../../../crds/shards/shards.ts";
import { startKubeApi, type KubeApiHandle } from "../../support/kube-api.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";
import { fewShards, type AppliedShard } from "./shard-secrets.ts";

export const shopNamespace = "shop";

/** A real API server with a namespace of shards and a pod's account that may read exactly these. */
export interface ShardCluster {
  readonly kube: KubeApiHandle;
  /** What a pod finds mounted: token, ca.crt, namespace. */
  readonly serviceAccountFolder: string;
  /** A kubeconfig that proves itself by the token in that folder, for a server at this URL. */
  kubeconfig(url?: string): Promise<string>;
  /** Writes Secrets with kubectl. */
  apply(secrets: Iterable<AppliedShard>): Promise<void>;
  /** Writes one Secret by a single request, and resolves when the server has answered. */
  put(secret: AppliedShard): Promise<void>;
  /** kubectl in the namespace. @throws Error when it fails */
  kubectl(...args: string[]): Promise<string>;
  /** Puts a new token of the account where the pod finds it. */
  rotateToken(): Promise<string>;
  stop(): Promise<void>;
}

const account = "runtime";

export async function startShardCluster(counts: ShardCounts = fewShards): Promise<ShardCluster> {
  const kube = await startKubeApi();
  const folder = await temporaryFolder("account");
  const run = async (args: readonly string[], stdin?: string): Promise<string> => {
    const { code, stdout, stderr } = await kube.kubectl(args, stdin);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const kubectl = (...args: string[]): Promise<string> => run(["--namespace", shopNamespace, ...args]);
  const rotateToken = async (): Promise<string> => {
    const token = (await kubectl("create", "token", account)).trim();
    await replace(join(folder.path, "token"), token);
    return token;
  };
  const admin = await adminOf(kube);
  await run(["create", "namespace", shopNamespace]);
  await run(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: rightsOf(counts) }));
  await rotateToken();
  await writeFile(join(folder.path, "namespace"), shopNamespace);
  await writeFile(join(folder.path, "ca.crt"), await readFile(kube.caPath));
  return {
    kube,
    serviceAccountFolder: folder.path,
    kubeconfig: async (url = kube.url) => {
      const path = join(folder.path, `kubeconfig-${new URL(url).port}`);
      await writeFile(path, kubeconfigText(url));
      return path;
    },
    apply: async (secrets) => {
      const items = [...secrets].map((secret) => ({
        ...secret,
        metadata: { ...secret.metadata, namespace: shopNamespace },
      }));
      await run(
        ["apply", "--server-side", "--force-conflicts", "-f", "-"],
        JSON.stringify({ apiVersion: "v1", kind: "List", items }),
      );
    },
    put: (secret) => admin.put(secret),
    kubectl,
    rotateToken,
    stop: async () => {
      await admin.close();
      await folder.remove();
      await kube.stop();
    },
  };
}

/** As a projected volume does it: the new file appears whole. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** What the chart grants a pod. */
function rightsOf(counts: ShardCounts): readonly object[] {
  const group = "rbac.authorization.k8s.io";
  const metadata = { name: account, namespace: shopNamespace };
  const resourceNames = shardNames(counts).map((shard) => shardSecretName("heliograph", shard));
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${group}/v1`,
      kind: "Role",
      metadata,
      rules: [{ apiGroups: [""], resources: ["secrets"], resourceNames, verbs: ["get", "list", "watch"] }],
    },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: group, kind: "Role", name: account },
      subjects: [{ kind: "ServiceAccount", name: account, namespace: shopNamespace }],
    },
  ];
}

function kubeconfigText(url: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server: url, "certificate-authority": "ca.crt" } }],
    users: [{ name: account, user: { tokenFile: "token" } }],
    contexts: [{ name: "test", context: { cluster: "test", user: account, namespace: shopNamespace } }],
    "current-context": "test",
  });
}

interface Admin {
  put(secret: AppliedShard): Promise<void>;
  close(): Promise<void>;
}

async function adminOf(kube: KubeApiHandle): Promise<Admin> {
  const { users } = JSON.parse(await readFile(kube.kubeconfig, "utf8")) as {
    readonly users: readonly { readonly user: { readonly token: string } }[];
  };
  const dispatcher = new Agent({ connect: { ca: await readFile(kube.caPath) } });
  const headers = { authorization: `Bearer ${users[0]?.user.token ?? ""}`, "content-type": "application/json" };
  return {
    put: async (secret) => {
      const url = `${kube.url}/api/v1/namespaces/${shopNamespace}/secrets/${secret.metadata.name}`;
      const { statusCode, body } = await request(url, {
        dispatcher,
        method: "PUT",
        headers,
        body: JSON.stringify(secret),
      });
      const text = await body.text();
      if (statusCode > 299) throw new Error(`${statusCode} ${text}`);
    },
    close: () => dispatcher.destroy(),
  };
}
