import { generateKeyPairSync } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  type CertificateRequest,
} from "../../support/tls/certificate-authority.ts";
import { apiPort, apiServiceAddress, clusterDomain, nodeAddress, nodeHost, nodeName } from "./network.ts";

/** Paths of the files by which the parts of the cluster know each other. */
export interface Credentials {
  /** The root that proves every certificate of the cluster. */
  readonly ca: string;
  readonly apiServer: CertificateFiles;
  /** By which the API server proves itself to the kubelet, for logs and exec. */
  readonly apiServerToKubelet: CertificateFiles;
  readonly kubeletServer: CertificateFiles;
  /** Signs the tokens of service accounts. */
  readonly serviceAccountKey: string;
  /** A kubeconfig for each client inside the node. */
  readonly kubeconfigs: Readonly<Record<Client, string>>;
}

/** A certificate and its key, as paths of PEM files. */
interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** The parts that call the API server from inside the node. */
type Client = "kubelet" | "kube-controller-manager" | "kube-scheduler" | "kube-proxy" | "coredns";

const admins = ["system:masters"];

/** Whom the API server's built-in roles expect. CoreDNS only reads, but has no built-in role. */
const clientNames: Readonly<Record<Client, CertificateRequest>> = {
  kubelet: { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] },
  "kube-controller-manager": { commonName: "system:kube-controller-manager" },
  "kube-scheduler": { commonName: "system:kube-scheduler" },
  "kube-proxy": { commonName: "system:kube-proxy" },
  coredns: { commonName: "coredns", organizations: admins },
};

const apiServerNames = [
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  `kubernetes.default.svc.${clusterDomain}`,
  "localhost",
  "127.0.0.1",
  apiServiceAddress,
  nodeAddress,
];

/**
 * Makes a certificate authority and everything that it certifies for one run, in a folder of its own.
 *
 * @param admin where to write the kubeconfig for this machine, and the address of the API server as seen from it
 */
export async function writeCredentials(
  folder: string,
  admin: { readonly path: string; readonly url: string },
): Promise<Credentials> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const authority = createCertificateAuthority("heliograph-test-cluster");
  const issue = (name: string, request: CertificateRequest): Promise<CertificateFiles> => {
    return writeCertificate(authority, join(folder, name), request);
  };
  const inside = `https://${nodeHost}:${apiPort}`;
  await writeKubeconfig(authority, admin.path, admin.url, { commonName: "admin", organizations: admins });
  const kubeconfigs = Object.entries(clientNames).map(async ([client, request]) => {
    const path = join(folder, `${client}.kubeconfig`);
    await writeKubeconfig(authority, path, inside, request);
    return [client, path] as const;
  });
  const ca = join(folder, "ca.crt");
  await writeFile(ca, authority.cert);
  return {
    ca,
    apiServer: await issue("api-server", { commonName: "kube-apiserver", names: apiServerNames }),
    apiServerToKubelet: await issue("api-server-to-kubelet", { commonName: "kube-apiserver", organizations: admins }),
    kubeletServer: await issue("kubelet-server", { commonName: nodeName, names: [nodeName, nodeAddress] }),
    serviceAccountKey: await writeServiceAccountKey(folder),
    kubeconfigs: Object.fromEntries(await Promise.all(kubeconfigs)) as Record<Client, string>,
  };
}

async function writeCertificate(
  authority: CertificateAuthority,
  path: string,
  request: CertificateRequest,
): Promise<CertificateFiles> {
  const files = { cert: `${path}.crt`, key: `${path}.key` };
  const { cert, key } = authority.issue(request);
  await writeFile(files.cert, cert);
  await writeFile(files.key, key, { mode: 0o600 });
  return files;
}

async function writeKubeconfig(
  authority: CertificateAuthority,
  path: string,
  server: string,
  request: CertificateRequest,
): Promise<void> {
  const { cert, key } = authority.issue(request);
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const user = { "client-certificate-data": base64(cert), "client-key-data": base64(key) };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "heliograph", cluster: { server, "certificate-authority-data": base64(authority.cert) } }],
    users: [{ name: request.commonName, user }],
    contexts: [{ name: "heliograph", context: { cluster: "heliograph", user: request.commonName } }],
    "current-context": "heliograph",
  };
  await writeFile(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
}

async function writeServiceAccountKey(folder: string): Promise<string> {
  const path = join(folder, "service-account.key");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFile(path, privateKey.export({ type: "sec1", format: "pem" }).toString(), { mode: 0o600 });
  return path;
}
