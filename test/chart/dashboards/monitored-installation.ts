import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { request } from "undici";
import { parseAllDocuments, stringify } from "yaml";
import { counts, OperatorCluster, prefix } from "../../operator/operator-cluster.ts";
import { eventText, postEvent } from "../../cli/installation.ts";
import { startMonitoredServer } from "../../runtime/nats/monitor/monitored-server.ts";
import { freePort } from "../../support/free-port.ts";
import { startProgram } from "../../support/heliograph-process.ts";
import { startPrometheus } from "../../support/prometheus.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";
import { makeIssuer, signToken } from "../../support/tokens.ts";
import { startWebhookPartner } from "../../support/webhook-partner.ts";
import { rendered } from "../judges.ts";

/** A real operator and two real runtime pods, scraped by a real Prometheus that evaluates the chart's rules. */
export interface MonitoredInstallation {
  readonly cluster: OperatorCluster;
  /** Of the Prometheus, without a slash at the end. */
  readonly prometheusUrl: string;
  /** URL of both APIs of a pod. */
  readonly apiUrl: string;
  /** Of its admin port. */
  readonly adminUrl: string;
  /** A token for everything. */
  readonly token: string;
  /** An edit, and for each pod an event and a query. */
  cause(): Promise<void>;
  stop(): Promise<void>;
}

/** Namespace and release of the rendered rules, and of the labels that the monitors of the chart give. */
const scraped = { namespace: "demo", release: "hg" };
const dayMs = 86_400_000;
const settings = { issuers: [{ issuer: "https://issuer.example", audiences: ["heliograph"], jwksFile: "keys.json" }] };

type Ends = (() => Promise<unknown>)[];

/** Starts everything; the pods have one process and two. */
export async function startMonitoredInstallation(): Promise<MonitoredInstallation> {
  const ends: Ends = [];
  const stop = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    return { ...(await startParts(ends)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startParts(ends: Ends): Promise<Omit<MonitoredInstallation, "stop">> {
  const folder = await temporaryFolder("monitored");
  ends.push(() => folder.remove());
  const cluster = await OperatorCluster.start();
  ends.push(() => cluster.stop());
  const nats = await startMonitoredServer();
  ends.push(() => nats.stop());
  await writeFile(join(folder.path, "ca.crt"), nats.authority.cert);
  const namespace = await cluster.namespace();
  const storePort = await freePort();
  ends.push(await putResources(cluster, namespace, `http://127.0.0.1:${storePort}`));
  const adminPorts = [await freePort(), await freePort()];
  const urls = adminPorts.map((port) => `http://127.0.0.1:${port}`);
  const { operator } = await cluster.replica(namespace, { runtime: { urls } });
  const token = await writeSettings(folder.path);
  const apis = await startPods(adminPorts, ends, {
    HELIOGRAPH_KUBECONFIG: cluster.kube.kubeconfig,
    HELIOGRAPH_NAMESPACE: namespace,
    HELIOGRAPH_NATS: `tls://127.0.0.1:${nats.server.port}`,
    HELIOGRAPH_NATS_CA: join(folder.path, "ca.crt"),
    HELIOGRAPH_SETTINGS: join(folder.path, "settings.json"),
  });
  const targets = [operator.metricsUrl, ...urls, `http://127.0.0.1:${nats.port}`];
  const prometheus = await startPrometheus({ port: storePort, config: await scrapeConfig(folder.path, targets) });
  ends.push(() => prometheus.stop());
  let round = 0;
  const cause = async (): Promise<void> => {
    round += 1;
    await cluster.quota(namespace, "edited", { clients: [{ clientId: `client-${round}` }] });
    for (const [index, api] of apis.entries()) await useApis(api, token, `evt-${round}-${index}`);
  };
  const [apiUrl = "", adminUrl = ""] = [apis[0], urls[0]];
  return { cluster, prometheusUrl: prometheus.url, apiUrl, adminUrl, token, cause };
}

/** Starts a pod for each port. Returns the URLs of their APIs. */
async function startPods(
  adminPorts: readonly number[],
  ends: Ends,
  environment: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const common = {
    HELIOGRAPH_CONFIG: "kubernetes",
    HELIOGRAPH_SHARDS: String(counts.config),
    HELIOGRAPH_KEY_SHARDS: String(counts.keys),
    HELIOGRAPH_CONFIG_PREFIX: prefix,
    HELIOGRAPH_HOST: "127.0.0.1",
    HELIOGRAPH_PORT: "0",
    HELIOGRAPH_UNREADY_SECONDS: "0",
  };
  const apis: string[] = [];
  // One after the other, because a start takes much of a small machine.
  for (const [index, adminPort] of adminPorts.entries()) {
    const own = { HELIOGRAPH_ADMIN_PORT: String(adminPort), HELIOGRAPH_POD_NAME: `runtime-${index}` };
    const program = startProgram(["runtime"], { environment: { ...common, ...environment, ...own } });
    ends.push(async () => {
      program.signal("SIGTERM");
      await program.ended();
    });
    apis.push((await program.ready()).url);
  }
  return apis;
}

/** Sends an event and asks a query. */
async function useApis(api: string, token: string, eventId: string): Promise<void> {
  await postEvent(api, token, eventText(eventId));
  const headers = { authorization: `Bearer ${token}` };
  const { body } = await request(`${api}/v1/metrics/query?metric=cpu_util`, { headers });
  await body.dump();
}

/** Partners that deliver, refuse and fail, and a catalog over the store. Answers what ends the partners. */
async function putResources(cluster: OperatorCluster, namespace: string, store: string): Promise<() => Promise<void>> {
  const [takes, refuses, fails] = await Promise.all(
    [200, 404, 503].map((status) => startWebhookPartner(() => ({ status }))),
  );
  const open = { networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true } };
  const all = { "subscriptions[0].types": ["**"], "subscriptions[0].tenants": ["*"], ...open };
  await cluster.secret(namespace, "old", { hmac: 9 });
  const notAfter = new Date(Date.now() + dayMs).toISOString();
  await cluster.partner(namespace, "takes", 1, {
    "endpoint.url": takes?.url,
    "signing.keys[1]": { id: "old", secretRef: { name: "old", key: "hmac" }, notAfter },
    ...all,
  });
  await cluster.partner(namespace, "refuses", 2, { "endpoint.url": refuses?.url, ...all });
  const circuitBreaker = { failures: 1, openSeconds: 600, maxOpenSeconds: 600 };
  await cluster.partner(namespace, "fails", 3, { "endpoint.url": fails?.url, circuitBreaker, ...all });
  await cluster.put(namespace, "MetricCatalog", "metrics", {
    stores: [{ name: "eu", region: "eu", prometheus: { url: store } }],
  });
  return async () => {
    await Promise.all([takes?.close(), refuses?.close(), fails?.close()]);
  };
}

/** Settings that trust an issuer; answers a token of it for everything. */
async function writeSettings(folder: string): Promise<string> {
  const issuer = await makeIssuer("https://issuer.example");
  await writeFile(join(folder, "keys.json"), JSON.stringify({ keys: [issuer.publicJwk] }));
  await writeFile(join(folder, "settings.json"), JSON.stringify(settings));
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const scope = "events:write webhooks:read metrics:read";
  return signToken(issuer, { iss: issuer.issuer, aud: "heliograph", sub: "test", exp, scope, tenants: ["lumen"] });
}

/** Scrapes each second, with the labels that the Prometheus operator and the chart's monitors give. */
async function scrapeConfig(folder: string, targets: readonly string[]): Promise<string> {
  const rules = join(folder, "rules.yml");
  await writeFile(rules, await renderedRules());
  const scrape_configs = targets.map((url, index) => ({
    job_name: `target-${index}`,
    static_configs: [{ targets: [new URL(url).host], labels: { ...scraped, pod: `pod-${index}` } }],
  }));
  return stringify({
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs,
  });
}

/** The rules as the chart renders them, in the form of a file for Prometheus. */
export async function renderedRules(): Promise<string> {
  const manifests = parseAllDocuments(await rendered("helm", ["monitoring.prometheusRule.enabled=true"]));
  const rule = manifests
    .map((document) => document.toJS() as PrometheusRule)
    .find((one) => one?.kind === "PrometheusRule");
  if (rule === undefined) throw new Error("no PrometheusRule");
  return stringify(rule.spec);
}

interface PrometheusRule {
  readonly kind: string;
  readonly spec: object;
}
