import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connectCluster } from "../../cli/api/cluster-connection.ts";
import { send } from "../../cli/api/request.ts";
import { nodeAddress, podRange } from "../cluster/node/network.ts";
import { makeIssuer, signToken } from "../support/tokens.ts";
import { waitFor } from "../support/wait.ts";
import type { Installation } from "./installation.ts";
import type { User } from "./user.ts";

const issuerUrl = "https://id.e2e.example";
const tokenSeconds = 3600;
const requestMsMax = 30_000;
const evictionMsMax = 90_000;
const readEveryMs = 200;

/** A client whose token is bound to a certificate. */
export interface BoundClient {
  /** Values of the chart that trust its issuer, and take certificates from the node's own addresses only. */
  readonly values: { readonly settings: object; readonly settingsFiles: Readonly<Record<string, string>> };
  /** The headers of its requests behind a proxy: the token, and the certificate as Envoy passes it on. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes a client and the issuer of its token. */
export async function boundClient(): Promise<BoundClient> {
  const issuer = await makeIssuer(issuerUrl);
  const thumbprint = randomBytes(32);
  const token = await signToken(issuer, {
    iss: issuerUrl,
    aud: "heliograph",
    sub: "bound-client",
    scope: "events:write",
    tenants: ["lumen"],
    exp: Math.floor(Date.now() / 1000) + tokenSeconds,
    cnf: { "x5t#S256": thumbprint.toString("base64url") },
  });
  // What comes from outside has one of these: the node's own, or that of the bridge, when kube-proxy translates it.
  const addresses = [`${nodeAddress}/32`, `${podRange.replace(/0\/24$/u, "1")}/32`];
  return {
    values: {
      settings: {
        issuers: [{ issuer: issuerUrl, audiences: ["heliograph"], jwksFile: "jwks.json" }],
        trustedProxies: { addresses, certificateForm: "Xfcc" },
      },
      settingsFiles: { "jwks.json": JSON.stringify({ keys: [issuer.publicJwk] }) },
    },
    headers: { authorization: `Bearer ${token}`, "x-forwarded-client-cert": `Hash=${thumbprint.toString("hex")}` },
  };
}

/** These values and those that the client needs. */
export function trusting(client: BoundClient, values: Values): Values {
  const { settings, settingsFiles } = client.values;
  return { ...values, settings: { ...(values["settings"] as object), ...settings }, settingsFiles };
}

type Values = Readonly<Record<string, unknown>>;

/** Sends the client's event from a pod that is no proxy; answers the status. */
export async function sentFromPod(user: User, service: string, client: BoundClient): Promise<number> {
  const script = `fetch("http://${service}/events", ${JSON.stringify(eventOf(client, "forged"))})
    .then(({ status }) => process.stdout.write(String(status)));`;
  return Number(await user.kubectl(["exec", "deployment/partner", "--", "node", "--eval", script]));
}

/** Sends the same from the node, whose address is a proxy's; answers the status. */
export async function sentFromProxy(
  { cluster }: Installation,
  { namespace }: User,
  service: string,
  client: BoundClient,
): Promise<number> {
  const forward = await cluster.forward({ namespace, service, port: 80 });
  try {
    const signal = AbortSignal.timeout(requestMsMax);
    return (await fetch(`${forward.url}/events`, { ...eventOf(client, "passed-on"), signal })).status;
  } finally {
    await forward.close();
  }
}

function eventOf({ headers }: BoundClient, id: string) {
  const data = { payout_id: "p-1", status: "paid", amount_minor: 100, currency: "EUR" };
  const ts = new Date().toISOString();
  const event = { event_id: id, type: "payout.processed", version: "2026-01-01", ts, tenant: "lumen", data };
  return {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", connection: "close" },
    body: JSON.stringify(event),
  };
}

/** Kubernetes' usual roles in a namespace. */
const teamRoles = ["view", "edit", "admin"] as const;

/** Gives a user of each role's name that role in a namespace. */
export async function bindTeam({ kubectl }: User): Promise<void> {
  for (const role of teamRoles)
    await kubectl(["create", "rolebinding", `team-${role}`, `--clusterrole=${role}`, `--user=team-${role}`]);
}

/** Whether a user with a role may do something, as the API server says. */
export async function teamMay({ cluster }: Installation, role: string, question: readonly string[]): Promise<boolean> {
  const { stdout, stderr } = await cluster.kubectl(["auth", "can-i", ...question, `--as=team-${role}`]);
  if (!["yes", "no"].includes(stdout.trim())) throw new Error(`kubectl auth can-i ${question.join(" ")}: ${stderr}`);
  return stdout.trim() === "yes";
}

/** Requests of a connection of the CLI. */
interface Reads {
  succeeded: number;
  readonly failures: string[];
}

/** Sends requests through one forwarded connection of the CLI, sequentially, until the work is done. */
export async function readsDuring<T>({ cluster }: Installation, { namespace }: User, work: () => Promise<T>) {
  const { kubeconfig } = cluster;
  const connection = await connectCluster({ kubeconfig, namespace, serviceAccount: "caller" });
  const reads: Reads = { succeeded: 0, failures: [] };
  const done = new AbortController();
  const readOn = async (): Promise<void> => {
    while (!done.signal.aborted) {
      await send(connection, { path: "/v1/me" }).then(
        () => (reads.succeeded += 1),
        (error: unknown) => reads.failures.push(String(error)),
      );
      await sleep(readEveryMs);
    }
  };
  const reading = readOn();
  try {
    return { result: await work(), reads };
  } finally {
    done.abort();
    await reading;
    await connection.close();
  }
}

/** How the evictions of a drain went. */
interface Drain {
  /** Evictions that the API server refused before it allowed them, by the part of the pod. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly tookMs: number;
}

/**
 * Evicts every pod of these parts, one after the other and each until it is allowed, as `kubectl drain` does.
 *
 * @throws Error when a pod may not go in time
 */
export async function evictInTurn(user: User, parts: readonly string[]): Promise<Drain> {
  const startMs = performance.now();
  const refusals: Record<string, number> = {};
  for (const part of parts) {
    const selector = `--selector=app.kubernetes.io/component=${part}`;
    const pods = (await user.kubectl(["get", "pods", selector, "--output=jsonpath={.items[*].metadata.name}"])).trim();
    refusals[part] = 0;
    for (const pod of pods.split(" ")) refusals[part] += await evict(user, pod);
  }
  return { refusals, tookMs: Math.round(performance.now() - startMs) };
}

/** Answers how often the eviction was refused before it was allowed. */
async function evict({ kubectl, namespace }: User, pod: string): Promise<number> {
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`;
  let refused = -1;
  const isAllowed = async (): Promise<boolean> => {
    refused += 1;
    // A pod that has gone meanwhile needs no eviction: `kubectl drain` goes on too.
    await kubectl(["create", `--raw=${path}`, "--filename=-"], eviction).catch((error: unknown) => {
      if (!String(error).includes("(NotFound)")) throw error;
    });
    return true;
  };
  await waitFor(isAllowed, { timeoutMs: evictionMsMax, pollMs: 500, what: `the eviction of ${pod}` });
  return refused;
}
