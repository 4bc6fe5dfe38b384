import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { type ClusterAccess, fingerprintOf } from "./credentials.ts";

/** The service account that Kubernetes mounts into a pod. */
interface ServiceAccount {
  /** Scheme, host and port. */
  readonly server: string;
  /** Namespace of the pod; undefined when the folder has none. */
  readonly namespace: string | undefined;
  /** Folder of `token` and `ca.crt`, which change over time. */
  readonly folder: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const folderDefault = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Finds the service account of this pod. Returns undefined outside a pod or without an account.
 *
 * Source: Kubernetes documentation, "Accessing the Kubernetes API from a Pod".
 *
 * @param folder its mount path
 */
export async function findServiceAccount(
  environment: Environment,
  folder = folderDefault,
): Promise<ServiceAccount | undefined> {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host === "" || (await textIn(folder, "token")) === undefined) return undefined;
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: await textIn(folder, "namespace"),
    folder,
  };
}

/** Creates the access of a service account. */
export function serviceAccountAccess({ server, namespace, folder }: ServiceAccount): ClusterAccess {
  return {
    server,
    namespace,
    read: async () => {
      const token = await readFile(join(folder, "token"), "utf8");
      const ca = await readFile(join(folder, "ca.crt"));
      return {
        server,
        headers: { Authorization: `Bearer ${token.trim()}` },
        connection: { type: "agent", connect: { ca } },
        fingerprint: fingerprintOf({ server, ca }),
      };
    },
  };
}

async function textIn(folder: string, file: string): Promise<string | undefined> {
  return await readFile(join(folder, file), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}
