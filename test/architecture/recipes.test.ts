import { describe, expect, test } from "vitest";
import { aggregations } from "../../crds/config.ts";
import { specSchemas } from "../../crds/types/schemas.ts";
import { errorTable } from "../../runtime/errors/table.ts";
import { flavours } from "../../runtime/stores/prometheus/prometheus-client.ts";
import { schemes } from "../../runtime/webhooks/signing/schemes.ts";
import { deliveryHeaders } from "../../runtime/webhooks/signing/signed-request.ts";
import { keptFiles, namedFiles, textOf } from "./named-files.ts";

const page = textOf("CONTRIBUTING.md");
const product = keptFiles.filter((path) =>
  /^(?:api|charts|cli|crds|demo|kube|limits|network|operator|runtime)\/.*\.(?:ts|yaml)$/u.test(path),
);

/** The numbered lines of a recipe, with those that continue them. */
function stepsOf(recipe: string): string {
  const [, section = ""] = page.split(`\n### ${recipe}\n`);
  const [own = ""] = section.split(/\n##+ /u);
  return own
    .split("\n")
    .filter((line) => /^(?:\d+\.| {3})/u.test(line))
    .join("\n");
}

function holds(text: string, word: string): boolean {
  return new RegExp(`(?<![\\w-])${word}(?![\\w-])`, "u").test(text);
}

/** Variants of the product, each with the recipe for another one. */
const variants: Readonly<Record<string, readonly string[]>> = {
  "A signing scheme": Object.keys(schemes),
  "An aggregation": aggregations,
  "A store flavour": Object.keys(flavours),
  "An error": Object.keys(errorTable),
};

describe.each(Object.entries(variants))("the recipe for %s", (recipe, names) => {
  const named = namedFiles(stepsOf(recipe));

  test("names files with every variant of today", () => {
    const missing = named.flatMap((path) => names.filter((name) => !holds(textOf(path), name)).map((n) => [path, n]));
    expect(missing).toEqual([]);
  });

  test("names every file of the product with every variant of today", () => {
    const files = product.filter((path) => names.every((name) => holds(textOf(path), name)));
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((path) => !named.includes(path))).toEqual([]);
  });

  test("names a page", () => {
    expect(named.filter((path) => path.startsWith("docs/"))).not.toEqual([]);
  });
});

test("the recipe for A header of every delivery names the places of every such header", () => {
  const attempt = {
    keys: [],
    url: new URL("https://partner.example"),
    body: Buffer.from("{}"),
    eventId: "e",
    attempt: 1,
    producer: "p",
    sentAtMs: 0,
    version: "1",
    endpointHeaders: {},
  };
  const names = Object.keys(deliveryHeaders("HmacV1", attempt))
    .map((name) => name.toLowerCase())
    .filter((name) => name.startsWith("x-") && name !== "x-signature");
  const steps = stepsOf("A header of every delivery");
  const places = namedFiles(steps).filter((path) => !path.startsWith("test/") && !path.includes("/delivery/"));
  const missing = places.flatMap((path) =>
    names.filter((name) => !holds(textOf(path).toLowerCase(), name)).map((name) => [path, name]),
  );
  expect(names).toContain("x-webhook-producer");
  expect(places).toContain("runtime/webhooks/sending/mask.ts");
  expect(places).toContain("crds/checks/webhook-partner.ts");
  expect(missing).toEqual([]);
});

test("every error of the table is used by the product", () => {
  const texts = product.filter((path) => path !== "runtime/errors/table.ts").map(textOf);
  const unused = Object.keys(errorTable).filter((code) => !texts.some((text) => text.includes(`"${code}"`)));
  expect(unused).toEqual([]);
});

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
}

/** Names of all fields of a schema, at any depth. */
function fieldsOf({ properties = {}, items }: Node): readonly string[] {
  const own = Object.entries(properties).flatMap(([name, node]) => [name, ...fieldsOf(node)]);
  return [...own, ...(items === undefined ? [] : fieldsOf(items))];
}

describe("the recipe for A field of a resource", () => {
  const schemaOf = {
    WebhookPartner: "webhook-partner",
    MetricCatalog: "metric-catalog",
    QueryClassQuota: "query-class-quota",
  };
  const code = product.filter((path) => /^crds\/(?:compile|checks)\//u.test(path)).map(textOf);

  test.each(Object.entries(schemaOf))("names the places of every field of %s", (kind, name) => {
    const fields = [...new Set(fieldsOf(specSchemas[kind as keyof typeof schemaOf]))];
    const texts = {
      schema: textOf(`crds/${name}.yaml`),
      types: textOf(`crds/types/${name}.ts`),
      chart: textOf(`charts/heliograph/files/crds/${name}.yaml`),
      compile: code.join("\n"),
      page: textOf(`docs/reference/resources/${name}.md`),
    };
    const missing = Object.entries(texts).flatMap(([place, text]) =>
      fields.filter((field) => !holds(text, field)).map((field) => `${place} lacks ${field}`),
    );
    expect(fields.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  test("names these places", () => {
    const steps = stepsOf("A field of a resource");
    for (const place of ["crds/types/", "charts/heliograph/files/crds/", "crds/compile/", "docs/reference/resources/"])
      expect(steps).toContain(`\`${place}\``);
    for (const name of Object.values(schemaOf)) expect(page).toContain(`\`crds/${name}.yaml\``);
  });
});
