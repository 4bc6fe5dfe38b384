import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unpackPreviousRelease } from "../e2e/previous-release.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temp-folder.ts";
import type { Schema } from "../tools/definition-schema.ts";
import { definitionsIn, type VersionedDefinition } from "./api-versions.ts";
import { narrowings } from "./narrowings.ts";

let folder: TemporaryFolder;
let previous: readonly VersionedDefinition[];

beforeAll(async () => {
  folder = await temporaryFolder("definitions");
  previous = definitionsIn((await unpackPreviousRelease(join(folder.path, "release"))).definitions);
});

afterAll(async () => {
  await folder?.remove();
});

const schemaOf = ({ spec }: VersionedDefinition, version: string): Schema => {
  const { schema } = spec.versions.find(({ name }) => name === version) ?? {};
  if (schema === undefined) throw new Error(`${spec.names.kind} has no ${version}`);
  return (schema as { readonly openAPIV3Schema: Schema }).openAPIV3Schema;
};

/** Differences that reject nothing more: parts of earlier rules, patterns of more texts, and rules about new fields. */
const widened: ReadonlySet<string> = new Set([
  "WebhookPartner.spec has a new rule: the URL must not have a query with HmacV1, which signs only the path",
  "WebhookPartner.spec has a new rule: ackUrl must not have a query with HmacV1, which signs only the path",
  "WebhookPartner.spec.endpoint.ackUrl has another pattern",
  "WebhookPartner.spec.endpoint.oauth2.tokenUrl has another pattern",
  "MetricCatalog.spec.stores[].peer.auth.oauth2.tokenUrl has another pattern",
  "MetricCatalog.spec has a new rule: an SLO's metric must be a ratio, a histogram or a gauge, because a counter has no " +
    "bad events",
  "MetricCatalog.spec.slos[] has a new rule: windowDays is for rolling windows; with calendar, leave it out",
  "MetricCatalog.spec has a new rule: an SLO must have over if, and only if, its metric is a gauge",
  "MetricCatalog.spec has a new rule: sliceSeconds must be at least the metric's minStepSeconds, which defaults to four " +
    "intervals",
  "MetricCatalog.spec.metrics[].source.gauge.name has another pattern",
  "MetricCatalog.spec.metrics[].source.gauge.matchers[].label has another pattern",
  "MetricCatalog.spec.metrics[].source.counter.name has another pattern",
  "MetricCatalog.spec.metrics[].source.counter.matchers[].label has another pattern",
  "MetricCatalog.spec.metrics[].source.ratio.numerator.name has another pattern",
  "MetricCatalog.spec.metrics[].source.ratio.numerator.matchers[].label has another pattern",
  "MetricCatalog.spec.metrics[].source.ratio.denominator.name has another pattern",
  "MetricCatalog.spec.metrics[].source.ratio.denominator.matchers[].label has another pattern",
  "MetricCatalog.spec.metrics[].source.histogram.name has another pattern",
  "MetricCatalog.spec.metrics[].source.histogram.matchers[].label has another pattern",
  "MetricCatalog.spec.stores[].labelMap{} has another pattern",
  "MetricCatalog.spec.stores[].prometheus.auth has a new rule: auth must have exactly one of basic, bearer, oauth2 and " +
    "sigv4",
  "MetricCatalog.spec.slos[] has a new rule: counts is for events; with over, a slice is good if it meets the threshold",
  "MetricCatalog.spec.slos[] has a new rule: the window of an SLO must have at most 50000 slices",
]);

/** Kinds that the release before did not have. */
const newKinds: ReadonlySet<string> = new Set(["EventCatalog"]);

describe("definitions, beside those of the release before", () => {
  test.each(definitionsIn())("only gain: $metadata.name", (today) => {
    const before = previous.find(({ metadata }) => metadata.name === today.metadata.name);
    expect(before === undefined).toBe(newKinds.has(today.spec.names.kind));
    if (before === undefined) return;
    for (const { name, served } of before.spec.versions) {
      const lost = served ? narrowings(schemaOf(before, name), schemaOf(today, name), today.spec.names.kind) : [];
      expect(lost.filter((sentence) => !widened.has(sentence))).toEqual([]);
    }
  });

  test.each(definitionsIn())("store v1alpha1: $metadata.name", ({ spec }) => {
    expect(spec.versions.filter(({ storage }) => storage).map(({ name }) => name)).toEqual(["v1alpha1"]);
  });
});

describe("the comparison of schemas", () => {
  const text: Schema = { type: "string", maxLength: 10, enum: ["a", "b"] };
  const object = (properties: Readonly<Record<string, Schema>>, more: Partial<Schema> = {}): Schema => ({
    type: "object",
    properties,
    ...more,
  });
  const rule = { rule: "self.a == self.b", message: "both are equal" };

  test.each<readonly [says: string, earlier: Schema, later: Schema, found: readonly string[]]>([
    ["a new optional field", object({}), object({ a: text }), []],
    ["a wider bound", text, { ...text, maxLength: 11 }, []],
    ["a new word", text, { ...text, enum: ["a", "b", "c"] }, []],
    ["a field without its rule", object({}, { "x-kubernetes-validations": [rule] }), object({}), []],
    [
      "a new field with a default",
      object({}),
      object({ a: { ...text, default: "a" } }),
      ["X.a is new and has a default"],
    ],
    ["a field that is gone", object({ a: text }), object({}), ["X.a is gone"]],
    ["a narrower bound", text, { ...text, maxLength: 9 }, ["X has a narrower maxLength"]],
    ["a new bound", text, { ...text, minLength: 1 }, ["X has a narrower minLength"]],
    ["a word that is gone", text, { ...text, enum: ["a"] }, ["X no longer takes b"]],
    ["a list of words that ends", text, { type: "string", maxLength: 10 }, []],
    ["a list of words that is new", { type: "string", maxLength: 10 }, text, ["X no longer takes other words"]],
    ["another type", text, { ...text, type: "integer" }, ["X has another type"]],
    ["another default", text, { ...text, default: "b" }, ["X has another default"]],
    [
      "a field that is required now",
      object({ a: text }),
      object({ a: text }, { required: ["a"] }),
      ["X now requires a"],
    ],
    [
      "a new rule",
      object({}),
      object({}, { "x-kubernetes-validations": [rule] }),
      ["X has a new rule: both are equal"],
    ],
    [
      "a change inside a list",
      { type: "array", items: text },
      { type: "array", items: { ...text, enum: ["a"] } },
      ["X[] no longer takes b"],
    ],
  ])("finds in %s what it narrows", (_says, earlier, later, found) => {
    expect(narrowings(earlier, later, "X")).toEqual(found);
  });
});
