import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { validateResource } from "../../crds/validate.ts";
import { clusterImages } from "../image/cluster-images.ts";

const folder = fileURLToPath(new URL("../../docs/examples/cluster", import.meta.url));
const files = readdirSync(folder).filter((file) => file !== "values.yaml");
const objects = files.flatMap((file) =>
  parseAllDocuments(readFileSync(`${folder}/${file}`, "utf8")).map((document) => ({
    file,
    value: document.toJS() as { readonly apiVersion: string; readonly kind: string },
  })),
);
const own = objects.filter(({ value }) => value.apiVersion.startsWith("heliograph.dev/"));

describe("the examples for a cluster", () => {
  test("hold an object of each kind", () => {
    expect(own.map(({ value }) => value.kind).toSorted()).toEqual([
      "MetricCatalog",
      "QueryClassQuota",
      "WebhookPartner",
    ]);
  });

  test.each(own)("hold a valid object in $file", ({ value }) => {
    expect(validateResource(value).problems).toEqual([]);
  });

  test("name images that make cluster-load gives a node without a registry", () => {
    const images = objects.flatMap(({ value }) =>
      [...JSON.stringify(value).matchAll(/"image":"([^"]+)"/gu)].map(([, image]) => image),
    );
    expect(new Set(images)).toEqual(new Set([clusterImages.product, clusterImages.prometheus]));
  });

  test("name the version of Prometheus that the tests build", () => {
    const pinned = readFileSync(fileURLToPath(new URL("../tools/prometheus/go.mod", import.meta.url)), "utf8");
    const [, minor] = /prometheus\/prometheus v0\.(\d+)/u.exec(pinned) ?? [];
    const version = `v${Math.floor(Number(minor) / 100)}.${Number(minor) % 100}.`;
    expect(clusterImages.prometheus.split(":")[1]).toMatch(
      new RegExp(`^${version.replaceAll(".", String.raw`\.`)}`, "u"),
    );
  });
});
