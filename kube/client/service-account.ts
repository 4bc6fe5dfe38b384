import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { type Credentials, fingerprintOf } from "./credentials.ts";

/** The way to the API server of a pod: what Kubernetes mounts into it. */
export interface ServiceAccount {
  /** Scheme, host and port. */
  readonly server: string;
  /** Where the pod runs; undefined when the folder does not say. */
  readonly namespace: string | undefined;
  /** Holds `token` and `ca.crt`, which change over time. */
  readonly folder: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const folderDefault = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The service account of this pod; undefined outside a pod, or in one that has none.
 *
 * Source: Kubernetes documentation, "Accessing the Kubernetes API from a Pod".
 *
 * @param folder where it is mounted
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

/** What proves the pod to the API server right now. @throws Error when a file is missing */
export async function readServiceAccount({ server, folder }: ServiceAccount): Promise<Credentials> {
  const token = await readFile(join(folder, "token"), "utf8");
  const ca = await readFile(join(folder, "ca.crt"));
  return {
    server,
    headers: { Authorization: `Bearer ${token.trim()}` },
    connection: { type: "agent", connect: { ca } },
    fingerprint: fingerprintOf({ server, ca }),
  };
}

async function textIn(folder: string, file: string): Promise<string | undefined> {
  return await readFile(join(folder, file), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}
