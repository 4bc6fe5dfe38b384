import { createHash } from "node:crypto";
import type { RequestOptions } from "node:https";
import type { DispatcherOptions } from "@kubernetes/client-node/dist/config.js";
import type { KubeConfig } from "@kubernetes/client-node";

/** Address and credentials of the API server, as the files are now. */
export interface Credentials {
  /** Scheme, host, port and an optional path, without a slash at the end. */
  readonly server: string;
  /** `Authorization`, impersonation. Never log these. */
  readonly headers: Readonly<Record<string, string>>;
  readonly connection: DispatcherOptions;
  /** Changes when new connections are needed: another CA, client certificate, server name or proxy. */
  readonly fingerprint: string;
}

/** Access to one API server. */
export interface ClusterAccess {
  /** Scheme, host and port. */
  readonly server: string;
  /** Namespace of the pod, or of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /**
   * Reads every file again, so that a rotated token, certificate or CA takes effect.
   *
   * @throws Error when a file is missing or a plugin fails
   */
  read(): Promise<Credentials>;
}

/**
 * Reads the credentials of the current context, files and plugins included. The library resolves kubeconfig, exec
 * plugins and OIDC.
 *
 * @throws Error when a file is missing or a plugin fails
 */
export async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error("the kubeconfig names no cluster for its current context");
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = options;
  const tls = defined({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized });
  return {
    server: cluster.server.replace(/\/$/u, ""),
    headers: headersOf(options),
    connection: config.createDispatcherOptions(cluster, tls),
    fingerprint: fingerprintOf({ server: cluster.server, proxy: cluster.proxyUrl, ...tls }),
  };
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name, String(value)]),
  );
  if (typeof options.auth !== "string") return headers;
  return { ...headers, Authorization: `Basic ${Buffer.from(options.auth).toString("base64")}` };
}

/** Computes a digest of everything that a connection depends on. */
export function fingerprintOf(parts: Readonly<Record<string, unknown>>): string {
  const hash = createHash("sha256");
  for (const [name, value] of Object.entries(parts)) {
    hash.update(`${name}\0`);
    hash.update(Buffer.isBuffer(value) ? value : String(value));
    hash.update("\0");
  }
  return hash.digest("hex");
}

function defined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as Partial<T>;
}
