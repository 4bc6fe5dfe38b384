import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { CatalogConfig } from "../../crds/config.ts";
import { sloRules } from "../../runtime/prometheus/slo-rules.ts";
import { parseExpression } from "../../runtime/prometheus/language/parse-expression.ts";
import { compileExpression } from "../../runtime/prometheus/compile/compile.ts";
import type { LookUp } from "../../runtime/prometheus/compile/program.ts";
import { catalogIn, exampleCatalog } from "../runtime/prometheus/example-catalog.ts";

/** Values of the variables of Grafana and Argo Rollouts, as these programs put them into an expression. */
const variables: Readonly<Record<string, string>> = {
  $__rate_interval: "2m",
  $tenant: "lumen",
  $region: "eu",
  "{{args.service}}": "login",
};

/** The texts in PromQL of a recipe: the members `expr` and `query` of any object. */
function expressionsOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === "string" && ["expr", "query"].includes(name) ? [inner] : expressionsOf(inner),
  );
}

function recipe(name: string): readonly string[] {
  const documents = parseAllDocuments(readFileSync(`docs/recipes/${name}`, "utf8"));
  return documents
    .flatMap((document) => expressionsOf(withoutTemplating(document.toJS())))
    .map((text) => Object.entries(variables).reduce((all, [from, to]) => all.replaceAll(from, to), text));
}

/** Members of a dashboard's variables are no expressions. */
function withoutTemplating(value: unknown): unknown {
  return Object.assign(Object.create(null), value, { templating: undefined }) as unknown;
}

const own = catalogIn("docs/recipes/own-slos.yaml");

function ruleTexts(catalog: CatalogConfig, tenants: readonly string[]): readonly string[] {
  const { groups } = sloRules(catalog, { tenants, isTenantMatched: true, quotas: [], nowMs: 0 });
  return groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
}

const sources: readonly (readonly [name: string, catalog: CatalogConfig, texts: readonly string[], count: number])[] = [
  ["grafana-dashboard.json", exampleCatalog, recipe("grafana-dashboard.json"), 12],
  ["argo-rollouts.yaml", exampleCatalog, recipe("argo-rollouts.yaml"), 1],
  ["keda.yaml", exampleCatalog, recipe("keda.yaml"), 1],
  ["the rules of the examples", exampleCatalog, ruleTexts(exampleCatalog, ["lumen"]), 26],
  ["the rules of own-slos.yaml", own, ruleTexts(own, []), 8],
];

/** The catalog as a caller with every right sees it. */
function lookUpIn({ metrics, slos }: CatalogConfig): LookUp {
  return (id) => {
    const metric = metrics.find((one) => one.id === id);
    const thresholds = slos.flatMap((slo) => (slo.metric === id ? (slo.threshold ?? []) : []));
    return metric === undefined ? undefined : { metric, thresholds };
  };
}

const leastOf = ({ metrics }: CatalogConfig, id: string): number =>
  metrics.find((metric) => metric.id === id)?.minStepSeconds ?? 0;

describe.each(sources)("%s", (_name, catalog, texts, count) => {
  test("has expressions", () => {
    expect(texts).toHaveLength(count);
  });

  test.each(texts)("%s", (text) => {
    const { selectors } = compileExpression(parseExpression(text), lookUpIn(catalog));
    const widths = selectors.map(({ metric, widthSeconds = 0 }) => [widthSeconds, leastOf(catalog, metric)]);
    expect(widths.filter(([width = 0, least = 0]) => width < least)).toEqual([]);
  });
});

test("own-slos.yaml reads series that the runtime has", () => {
  const text = readFileSync("docs/recipes/own-slos.yaml", "utf8");
  const page = readFileSync("docs/how-to/monitoring.md", "utf8");
  const names = [...text.matchAll(/ name: (heliograph_\w+)/gu)].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(4);
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
});
