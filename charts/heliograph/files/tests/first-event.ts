import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request as requestTls, type RequestOptions } from "node:https";

/**
 * The program of `helm test`, in a pod of the release. It applies a partner, a catalog and a quota, and waits until
 * every runtime applies them. It sends an event, checks the signature of the delivery, queries a metric, and removes
 * its objects. It is partner and store itself, and authenticates with the token of its service account. It needs
 * nothing but Node.
 *
 * Environment: NAMESPACE, NAME (of all that it makes), HOST (of its Service, in full), API (base URL), TENANT, CIDRS.
 */
const { NAMESPACE: namespace = "", NAME: name = "", API: api = "", TENANT: tenant = "" } = process.env;
const port = 8080;
const stepMsMax = 40_000;
const requestMsMax = 10_000;
const pauseMs = 250;
const bodyBytesMax = 1024 * 1024;
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
const group = "/apis/heliograph.dev/v1alpha1";
const metricId = `${name}-value`.replaceAll("-", "_");
const expectedValue = 42;
const run = randomBytes(6).toString("hex");
const signingKey = randomBytes(32).toString("hex");

type Json = Readonly<Record<string, unknown>>;

/** Deliveries to the partner by event id: true with a right signature. */
const arrived = new Map<string, boolean>();

async function bodyOf(request: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Error("a body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Source: seed "Webhook Event Delivery" §5. */
function isSigned({ headers, method = "", url = "" }: IncomingMessage, body: Buffer): boolean {
  const hash = createHash("sha256").update(body).digest("hex");
  const canonical = [headers["x-timestamp"], method, url, hash].join("\n");
  const expected = Buffer.from(`v1=${createHmac("sha256", signingKey).update(canonical).digest("base64")}`);
  const given = Buffer.from(String(headers["x-signature"]));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** One sample at the end of each query, as Prometheus's HTTP API writes it; ranges have one at each step. */
function storeResponse(parameters: URLSearchParams): Json {
  const query = parameters.get("query") ?? "";
  if (query.includes("heliograph_probe")) return success("vector", []);
  // Probes of the kind of store, without series. The responses are those of Prometheus 3: left-open ranges,
  // extrapolated increases.
  if (query.includes("vector(1)")) return vector(2, parameters);
  if (query.includes("vector(time())")) return vector(37.5, parameters);
  return parameters.has("step") ? matrix(parameters) : vector(valueOf(query), parameters);
}

/** An average is a sum over a count. The number of samples is free. */
function valueOf(query: string): number {
  const samples = 10;
  if (query.includes("count_over_time")) return samples;
  return query.includes("sum_over_time") ? samples * expectedValue : expectedValue;
}

function vector(value: number, parameters: URLSearchParams): Json {
  const at = Number(parameters.get("time") ?? Date.now() / 1000);
  return success("vector", [{ metric: {}, value: [at, String(value)] }]);
}

function matrix(parameters: URLSearchParams): Json {
  const [start, end, step] = ["start", "end", "step"].map((key) => Number(parameters.get(key))) as [
    number,
    number,
    number,
  ];
  const value = String(valueOf(parameters.get("query") ?? ""));
  const values = Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => [
    start + index * step,
    value,
  ]);
  return success("matrix", [{ metric: {}, values }]);
}

function success(resultType: string, result: readonly Json[]): Json {
  return { status: "success", data: { resultType, result } };
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request);
  const url = new URL(request.url ?? "/", "http://test");
  if (url.pathname.startsWith("/webhooks/")) {
    arrived.set(String(request.headers["x-event-id"]), isSigned(request, body));
    response.writeHead(200).end();
    return;
  }
  const isForm = request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  const parameters = isForm ? new URLSearchParams(body.toString()) : url.searchParams;
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(storeResponse(parameters)));
}

/** A request to the API server. @throws Error with its response when it rejects */
async function kubernetes(method: string, path: string, body?: Json): Promise<Json> {
  const account = (file: string): string => readFileSync(`${accountFolder}/${file}`, "utf8");
  const type = method === "PATCH" ? "application/apply-patch+yaml" : "application/json";
  const options: RequestOptions = {
    method,
    ca: account("ca.crt"),
    headers: { authorization: `Bearer ${account("token")}`, "content-type": type },
    timeout: requestMsMax,
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = requestTls(`https://kubernetes.default.svc${path}`, options, resolve);
  request.on("error", reject).on("timeout", () => request.destroy(new Error("the API server is silent")));
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const response = await promise;
  const text = (await bodyOf(response)).toString();
  if ((response.statusCode ?? 0) >= 300) throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text) as Json;
}

const secrets = `/api/v1/namespaces/${namespace}/secrets`;
const resources = ["webhookpartners", "metriccatalogs", "queryclassquotas"].map(
  (plural) => `${group}/namespaces/${namespace}/${plural}/${name}`,
);

/** Everything that the test makes, by path. */
function objects(): ReadonlyMap<string, Json> {
  const [partner = "", catalog = "", quota = ""] = resources;
  const host = `http://${process.env["HOST"]}:${port}`;
  const object = (kind: string, spec: Json): Json => ({
    apiVersion: "heliograph.dev/v1alpha1",
    kind,
    metadata: { name },
    spec,
  });
  const metric = {
    id: metricId,
    category: "infrastructure",
    unit: "1",
    description: "The metric of the installation's test.",
    source: { gauge: { name: metricId }, intervalSeconds: 10 },
    labels: ["region", "tenant"],
    aggregations: ["avg"],
    defaultAggregation: "avg",
  };
  return new Map([
    [`${secrets}/${name}`, { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { key: signingKey } }],
    [
      partner,
      object("WebhookPartner", {
        endpoint: { url: `${host}/webhooks/v1/test` },
        signing: { keys: [{ id: "test", secretRef: { name, key: "key" } }] },
        subscriptions: [{ name: "test", types: ["installation.tested"], tenants: [tenant] }],
        networks: { allowCidrs: (process.env["CIDRS"] ?? "").split(","), allowPlaintext: true },
      }),
    ],
    [
      catalog,
      object("MetricCatalog", {
        schemaVersion: "1",
        stores: [{ name: "test", region: "test", prometheus: { url: host } }],
        metrics: [metric],
      }),
    ],
    [
      quota,
      object("QueryClassQuota", { class: "B", clients: [{ clientId: `system:serviceaccount:${namespace}:${name}` }] }),
    ],
  ]);
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

async function isProgrammed(path: string): Promise<true> {
  const { metadata, status } = (await kubernetes("GET", path)) as {
    readonly metadata: { readonly generation: number };
    readonly status?: { readonly conditions?: readonly Condition[] };
  };
  const conditions = status?.conditions ?? [];
  const programmed = conditions.find(({ type }) => type === "Programmed");
  if (programmed?.status === "True" && programmed.observedGeneration === metadata.generation) return true;
  throw new Error(
    conditions.map(({ type, reason, message }) => `${type}: ${reason}: ${message}`).join("; ") || "no status yet",
  );
}

/** Calls the product's API as the service account. @throws Error with its response when it rejects */
async function call(path: string, init: RequestInit = {}): Promise<Json> {
  const authorization = `Bearer ${readFileSync("/var/run/secrets/heliograph/token", "utf8")}`;
  const headers = { authorization, "content-type": "application/json" };
  const response = await fetch(`${api}${path}`, { ...init, headers, signal: AbortSignal.timeout(requestMsMax) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Json;
}

function sendEvent(eventId: string): Promise<Json> {
  const event = {
    event_id: eventId,
    type: "installation.tested",
    version: "2026-01-01",
    ts: new Date().toISOString(),
    tenant,
    data: { run },
  };
  return call("/events", { method: "POST", body: JSON.stringify(event) });
}

function isDelivered(eventId: string): true {
  const isRight = arrived.get(eventId);
  if (isRight === undefined) throw new Error("no delivery arrived yet");
  if (!isRight) throw new Error("it arrived with a wrong signature");
  return true;
}

async function isServed(): Promise<true> {
  const { data } = (await call(`/v1/metrics/instant?metric=${metricId}&filter[tenant]=${tenant}`)) as {
    readonly data: ReadonlyArray<{ readonly value: number }>;
  };
  if (data[0]?.value !== expectedValue) throw new Error(`the response is ${JSON.stringify(data)}`);
  return true;
}

/** Repeats the check until it does not throw. @throws Error with the last reason when the deadline has passed */
async function eventually(what: string, check: () => unknown): Promise<void> {
  const deadlineMs = performance.now() + stepMsMax;
  for (;;) {
    try {
      await check();
      process.stdout.write(`ok: ${what}\n`);
      return;
    } catch (error) {
      if (performance.now() >= deadlineMs) throw new Error(`not ${what}: ${String(error)}`, { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

async function main(): Promise<void> {
  const made = objects();
  try {
    for (const [path, object] of made)
      await kubernetes("PATCH", `${path}?fieldManager=heliograph-test&force=true`, object);
    for (const path of resources) await eventually(`programmed: ${path}`, () => isProgrammed(path));
    const eventId = `helm-test-${run}`;
    await eventually("an event is accepted", () => sendEvent(eventId));
    await eventually("the event arrives, signed", () => isDelivered(eventId));
    await eventually("the metric has its value", isServed);
  } finally {
    for (const path of [...made.keys()].toReversed())
      await kubernetes("DELETE", path).catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
  }
}

const server = createServer((request, response) => {
  respond(request, response).catch(() => response.writeHead(400).end());
}).listen(port);
try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  server.closeAllConnections();
  server.close();
}
