import { request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plainObject } from "../../crds/valid-objects.ts";
import { freePort } from "../../support/free-port.ts";
import { startOtlpReceiver, type OtlpReceiver, type TakenSpan } from "./otlp-receiver.ts";
import { startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { eventText, makeInstallation, partnerText, type Installation, type Running } from "../../cli/installation.ts";

const timeoutMs = 30_000;
const callerSpan = "00f067aa0ba902b7";
const traceIds = { event: "1".repeat(32), silent: "2".repeat(32), query: "3".repeat(32), late: "4".repeat(32) };

let collector: OtlpReceiver;
let store: PrometheusHandle;
let partner: WebhookPartnerServer;
let installation: Installation;
let program: Running;

beforeAll(async () => {
  const adminPort = await freePort();
  collector = await startOtlpReceiver();
  store = await startPrometheus({ config: scrapeConfig(adminPort), flags: ["--enable-feature=exemplar-storage"] });
  partner = await startWebhookPartner();
  installation = await makeInstallation();
  await installation.write("partner.yaml", partnerText("acme", partner.url));
  await installation.write("catalog.yaml", catalogText(store.url));
  const flags = ["--admin-port", String(adminPort), "--otlp-endpoint", collector.url, "--trace-service", "shop"];
  program = await installation.start(...flags);
}, 3 * timeoutMs);

afterAll(async () => {
  await installation?.remove();
  await partner?.close();
  await store?.stop();
  await collector?.stop();
});

function scrapeConfig(adminPort: number): string {
  const target = { targets: [`127.0.0.1:${adminPort}`] };
  return JSON.stringify({
    scrape_configs: [{ job_name: "heliograph", scrape_interval: "1s", static_configs: [target] }],
  });
}

function catalogText(url: string): string {
  const catalog = plainObject("MetricCatalog", {
    stores: [{ name: "eu", region: "eu", prometheus: { url } }],
    "metrics[0].id": "lag",
    "metrics[0].source": { gauge: { name: "up" }, intervalSeconds: 15 },
    "metrics[0].labels": ["region", "tenant"],
    "metrics[0].aggregations": ["max"],
    "metrics[0].defaultAggregation": "max",
  });
  return JSON.stringify(catalog);
}

async function call(path: string, traceparent: string, body?: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${await installation.token()}`,
    "content-type": "application/json",
    traceparent,
  };
  const options = body === undefined ? { headers } : { method: "POST" as const, headers, body };
  const answer = await request(`${program.line.url}${path}`, options);
  await answer.body.dump();
  return answer.statusCode;
}

const traceparentOf = (traceId: string, flags = "01"): string => `00-${traceId}-${callerSpan}-${flags}`;

/** The spans of a trace by their names, once all of them are there. */
function spansOf(traceId: string, names: readonly string[]): Promise<ReadonlyMap<string, TakenSpan>> {
  const look = (): ReadonlyMap<string, TakenSpan> | undefined => {
    const own = new Map(collector.spans().flatMap((span) => (span.traceId === traceId ? [[span.name, span]] : [])));
    return names.every((name) => own.has(name)) ? own : undefined;
  };
  return waitFor(look, { timeoutMs, what: `the spans ${names.join(", ")}` });
}

test("an event has one trace from its caller to the partner", { timeout: 2 * timeoutMs }, async () => {
  expect(await call("/events", traceparentOf(traceIds.silent, "00"), eventText("e-silent"))).toBe(202);
  expect(await call("/events", traceparentOf(traceIds.event), eventText("e-1"))).toBe(202);
  const spans = await spansOf(traceIds.event, ["ingest", "route", "attempt", "partner"]);
  const parents = ["ingest", "route", "attempt", "partner"].map((name) => spans.get(name)?.parentSpanId);
  const ids = ["ingest", "route", "attempt"].map((name) => spans.get(name)?.spanId);
  expect(parents).toEqual([callerSpan, ...ids]);
  expect(partner.of("e-1")[0]?.headers["traceparent"]).toBe(`00-${traceIds.event}-${spans.get("partner")?.spanId}-01`);
  expect(spans.get("attempt")).toMatchObject({
    kind: 1,
    attributes: {
      "service.name": "shop",
      "heliograph.event.id": "e-1",
      "heliograph.tenant": "lumen",
      "heliograph.partner": "default/acme",
      "heliograph.attempt": "1",
      "heliograph.outcome": "delivered",
    },
  });
  expect(spans.get("partner")).toMatchObject({ kind: 3, attributes: { "http.response.status_code": "200" } });
  await waitFor(() => partner.of("e-silent").length > 0, { timeoutMs, what: "the event that is not sampled" });
  expect(partner.of("e-silent")[0]?.headers["traceparent"]).toMatch(
    new RegExp(`^00-${traceIds.silent}-[0-9a-f]{16}-00$`, "u"),
  );
  expect(collector.spans().filter(({ traceId }) => traceId === traceIds.silent)).toEqual([]);
});

test("a query has one trace from its caller to the store", { timeout: 2 * timeoutMs }, async () => {
  const path = "/v1/metrics/query?metric=lag&filter[tenant]=lumen";
  expect(await call(path, traceparentOf(traceIds.query))).toBe(200);
  const spans = await spansOf(traceIds.query, ["query", "store"]);
  const [query, read] = ["query", "store"].map((name) => spans.get(name));
  expect([query?.parentSpanId, read?.parentSpanId]).toEqual([callerSpan, query?.spanId]);
  expect([query?.kind, read?.kind]).toEqual([2, 3]);
  expect(query).toMatchObject({ attributes: { "heliograph.route": "query", "heliograph.outcome": "ok" } });
  expect(read).toMatchObject({ attributes: { "heliograph.store": expect.any(String), "heliograph.region": "eu" } });
});

test("a Prometheus that stores exemplars leads from a bucket to the trace", { timeout: 2 * timeoutMs }, async () => {
  expect(await call("/events", traceparentOf(traceIds.late), eventText("e-late"))).toBe(202);
  const traceIdsOf = async (series: string): Promise<readonly string[]> => {
    const [end, start] = [Date.now() / 1_000 + 60, Date.now() / 1_000 - 600];
    const url = `${store.url}/api/v1/query_exemplars?query=${series}&start=${start}&end=${end}`;
    const { data } = (await (await request(url)).body.json()) as {
      readonly data: readonly { readonly exemplars: readonly { readonly labels: { readonly trace_id: string } }[] }[];
    };
    return data.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id));
  };
  const leadsTo = async (series: string, traceId: string): Promise<void> => {
    const isThere = async (): Promise<boolean> => (await traceIdsOf(`${series}_bucket`)).includes(traceId);
    await waitFor(isThere, { timeoutMs, pollMs: 250, what: `an exemplar of ${series}` });
  };
  await leadsTo("heliograph_webhook_delivery_duration_seconds", traceIds.late);
  await leadsTo("heliograph_webhook_attempt_duration_seconds", traceIds.late);
  await leadsTo("heliograph_metrics_request_duration_seconds", traceIds.query);
  const plain = await request(`${program.line.admin_url}/metrics`);
  expect(plain.headers["content-type"]).toContain("text/plain");
  expect(await plain.body.text()).toMatch(/^heliograph_webhook_ingest_total\{outcome="stored"\} 3$/mu);
});
