import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { compile } from "../../crds/compile/compile.ts";
import type { SeriesConfig, SourceConfig } from "../../crds/config.ts";
import { allowAll } from "../../crds/policy.ts";
import { validateResource } from "../../crds/validate.ts";
import { demoStores, demoTenants } from "../../demo/series-families.ts";
import { seriesCatalog } from "../demo/series-catalog.ts";
import { first } from "./compile/resources.ts";

const folder = fileURLToPath(new URL("../../docs/examples", import.meta.url));

interface Secret {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly stringData: Readonly<Record<string, string>>;
}

const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
/** Of pages that show a resource which `docs/examples` has not. */
const pages = ["../how-to/cloudevents.md"].map((page) => ({
  page,
  text: /^```yaml\n(?<yaml>.*?)^```$/msu.exec(readFileSync(`${folder}/${page}`, "utf8"))?.groups?.["yaml"] ?? "",
}));

test.each(pages)("$page shows a valid resource", ({ text }) => {
  const { resource } = validateResource(parse(text) as unknown);
  expect(resource?.kind).toBe("WebhookPartner");
  expect(resource?.spec).toMatchObject({ format: "CloudEvents" });
});

const documents = files.flatMap((file) =>
  parseAllDocuments(readFileSync(`${folder}/${file}`, "utf8")).map((document) => ({
    file,
    value: document.toJS() as unknown,
  })),
);
const isSecret = (value: unknown): value is Secret => Reflect.get(Object(value), "kind") === "Secret";
const objects = documents.filter(({ value }) => !isSecret(value));
const secrets = documents.map(({ value }) => value).filter(isSecret);

const { config, results } = compile({
  resources: objects.flatMap(({ value }) => validateResource(value).resource ?? []),
  secrets: new Map(
    secrets.map(({ metadata, stringData }) => [
      `${metadata.namespace}/${metadata.name}`,
      Object.fromEntries(Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
    ]),
  ),
  policy: allowAll,
});
const catalog = first(config.catalogs);

/** The ids of seed "Operational Metrics API" §2.2, by category. */
const seedMetrics = {
  slo: ["api_5xx_rate", "auth_success_rate", "bet_settle_p99_ms", "withdraw_tat_p95_ms"],
  kri: ["db_replication_lag", "psp_soft_decline_rate", "queue_consumer_lag"],
  business: ["bets_success_pct", "deposits_success_pct", "kyc_pass_rate"],
  infrastructure: ["cache_hit_ratio", "cdn_waf_block_rate", "cpu_util"],
  // cache_hit_ratio is the fourth: one metric, whose component says whose cache it is.
  api: ["error_rate", "p95_latency", "partial_response_rate"],
};

function seriesOf(source: SourceConfig): readonly SeriesConfig[] {
  return source.kind === "ratio" ? [source.numerator, source.denominator] : [source];
}

function matchersOf(...maps: readonly (Readonly<Record<string, string>> | undefined)[]): readonly string[] {
  return maps.flatMap((map) => Object.entries(map ?? {}).map(([label, value]) => `${label}=${value}`)).sort();
}

describe("the examples", () => {
  test.each(objects)("hold a valid object in $file", ({ value }) => {
    expect(validateResource(value).problems).toEqual([]);
  });

  test("are all in force together, without a warning", () => {
    expect(results).toHaveLength(objects.length);
    expect(results.flatMap(({ problems, warnings }) => [...problems, ...warnings])).toEqual([]);
  });

  test("subscribe two partners to created and processed payouts (Webhook Event Delivery §2.1)", () => {
    const types = config.partners.map(({ subscriptions }) =>
      subscriptions.flatMap((subscription) => subscription.types),
    );
    expect(types).toEqual([
      ["payout.created", "payout.processed"],
      ["payout.created", "payout.processed"],
    ]);
  });

  test("hold every metric id in its category (Operational Metrics API §2.2)", () => {
    const byCategory = Object.groupBy(catalog.metrics, ({ category }) => category);
    const ids = Object.entries(byCategory).map(([category, metrics]) => [category, metrics.map(({ id }) => id)]);
    expect(Object.fromEntries(ids)).toEqual(seedMetrics);
  });

  test.each(seriesCatalog)("read $metric from the series that the demo's stores hold", (entry) => {
    const metric = first(catalog.metrics.filter(({ id }) => id === entry.metric));
    expect(metric.source.kind).toBe(entry.kind);
    expect(metric.unit).toBe(entry.unit);
    expect(metric.labels.toSorted()).toEqual(["region", "tenant", "environment", ...entry.labels].sort());
    const series = seriesOf(metric.source);
    expect(new Set(series.map(({ name }) => name))).toEqual(new Set([entry.series]));
    const expected =
      entry.kind === "ratio"
        ? [matchersOf(entry.matchers, entry.numerator), matchersOf(entry.matchers)]
        : [matchersOf(entry.matchers)];
    expect(series.map(({ matchers }) => matchers.map(({ label, value }) => `${label}=${value}`))).toEqual(expected);
  });

  test("describe the demo's stores as they are", () => {
    const described = catalog.stores.map(({ name, region, labelMap }) => [name, { region, labelMap }]);
    const stores = Object.entries(demoStores).map(([name, { region, labelMap }]) => [name, { region, labelMap }]);
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries(stores));
    const intervals = Object.fromEntries(
      Object.entries(demoStores).map(([name, store]) => [name, store.intervalSeconds]),
    );
    for (const { intervalSeconds } of catalog.metrics) expect(intervalSeconds).toEqual(intervals);
  });

  test("name the demo's tenants only", () => {
    const named = [
      ...config.partners.flatMap(({ subscriptions }) => subscriptions.flatMap(({ tenants }) => tenants)),
      ...config.quotas.flatMap(({ clients }) => clients.flatMap(({ tenants }) => tenants)),
    ];
    expect(new Set(named)).toEqual(new Set([...demoTenants, "*"]));
  });
});
