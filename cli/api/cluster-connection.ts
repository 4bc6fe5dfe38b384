import { type CallOptions, createKubeClient, type KubeClient } from "../../kube/client/client.ts";
import { openClusterAccess } from "../../kube/client/cluster-access.ts";
import type { ClusterAccess } from "../../kube/client/credentials.ts";
import type { IssuedToken } from "../../kube/client/apply.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { forwardPort } from "../../kube/client/port-forward.ts";
import { singleTry } from "../../kube/client/retry.ts";
import { StartError, startStep } from "../../runtime/program/start-error.ts";
import { version } from "../../runtime/version.ts";
import { findRuntime, readyPodPort } from "./find-runtime.ts";

/** Which release to reach, and as whom. */
export interface ClusterTarget {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Namespace of the service account. @default that of the context, else `default` */
  readonly namespace?: string | undefined;
  readonly serviceAccount: string;
  /** Namespace of the release. @default the namespace above, then `heliograph` */
  readonly releaseNamespace?: string | undefined;
}

/** A connection to the API of a release through the API server of its cluster. */
export interface ClusterConnection {
  /** Of a port of this machine that leads to a ready pod. */
  readonly url: string;
  /** Name that the certificate of the pods has, where they serve https. */
  readonly serverName: string;
  /** The current token; requested again before it expires. @throws StartError `kubernetes` */
  token(): Promise<string>;
  /** Why the last request reached no pod. @default it reached one */
  failure(): string | undefined;
  close(): Promise<void>;
}

/** Namespace of the documented installation. */
const usualNamespace = "heliograph";
/** Audience that the chart accepts by default (`clusterIssuer.audiences`). */
const audience = "heliograph";
/** Bound of one call to the API server. */
const callMsMax = 10_000;
const call: CallOptions = { retry: singleTry(callMsMax) };
const metrics = { requests: { inc: () => undefined } };

/** Times of a token of a service account. */
const tokenSeconds = 600;
const renewBeforeMs = 60_000;

/** Opens the API server of a kubeconfig. @throws StartError `kubernetes` */
export async function openCluster({
  kubeconfig,
  context,
}: Pick<ClusterTarget, "kubeconfig" | "context">): Promise<Cluster> {
  return await startStep("kubernetes", "the API server cannot be used", async () => {
    const access = await openClusterAccess({ path: kubeconfig, context });
    return { access, client: createKubeClient({ access, userAgent: `kubectl-heliograph/${version}`, metrics }) };
  });
}

interface Cluster {
  readonly access: ClusterAccess;
  readonly client: KubeClient;
}

/**
 * Opens a connection with a token of a service account. The API server's own proxy would drop the header of the token,
 * so that a port is forwarded.
 *
 * @param ownToken replaces the token of the service account
 * @throws StartError `kubernetes`
 */
export async function connectCluster(
  target: ClusterTarget,
  ownToken?: () => Promise<string>,
): Promise<ClusterConnection> {
  const cluster = await openCluster(target);
  try {
    return await explained(() => connect(cluster, target, ownToken));
  } catch (error) {
    await cluster.client.close();
    throw error;
  }
}

async function connect(
  { access, client }: Cluster,
  target: ClusterTarget,
  ownToken: (() => Promise<string>) | undefined,
): Promise<ClusterConnection> {
  const namespace = target.namespace ?? access.namespace ?? "default";
  const places = target.releaseNamespace === undefined ? [namespace, usualNamespace] : [target.releaseNamespace];
  const service = await findRuntime(client, places, call);
  const account = { namespace, name: target.serviceAccount };
  const request = { audience, expirationSeconds: tokenSeconds };
  const token = ownToken ?? keptToken(() => client.createToken(account, request, call), Date.now);
  // Both fail here with a reason; later they could only end a connection.
  await Promise.all([token(), readyPodPort(client, service, Math.random, call)]);
  const forward = await forwardPort(access, () => readyPodPort(client, service, Math.random, call));
  return {
    url: `${service.scheme}://localhost:${forward.port}`,
    serverName: `${service.name}.${service.namespace}.svc`,
    token: () => explained(token),
    failure: () => forward.failure(),
    close: async () => {
      await forward.close();
      await client.close();
    },
  };
}

/** Adds what to do to the errors of the API server. @throws StartError `kubernetes` */
export async function explained<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (!isKubeError(error)) throw error;
    const hint = hintOf(error.message, error.kind);
    throw new StartError("kubernetes", `${error.message}${hint}`, error);
  }
}

function hintOf(message: string, kind: string): string {
  if (kind === "notFound" && message.includes("/token"))
    return "; create the service account, or select another with --service-account and --namespace";
  if (kind === "forbidden") return "; docs/how-to/kubectl.md lists the rights that the command needs";
  return "";
}

/**
 * Keeps a token until a minute before it expires, and requests the next one then.
 *
 * @param request fails with a KubeError
 */
export function keptToken(request: () => Promise<IssuedToken>, nowMs: () => number): () => Promise<string> {
  let kept: Promise<IssuedToken> | undefined;
  return async () => {
    const current = await kept?.catch(() => undefined);
    if (current !== undefined && nowMs() < current.expiresAtMs - renewBeforeMs) return current.token;
    kept = request();
    return (await kept).token;
  };
}
