import { describe, expect, test } from "vitest";
import { createCompiler } from "../../../crds/compile/compile.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { declaredTypes, sensitiveFields } from "../../../crds/declared-types.ts";
import { partsOf } from "../../../crds/part.ts";
import { allowAll } from "../../../crds/policy.ts";
import type { Resource } from "../../../crds/resource.ts";
import { plainObject } from "../valid-objects.ts";
import { partnerSecrets as secrets, resourceOf } from "./resources.ts";

const financial = [{ pointer: "/id", class: "financial" }];
const other = "kyc.passed";

/** A catalog with these types; a type without fields has none that is sensitive. */
function catalog(name: string, types: Readonly<Record<string, typeof financial>>, uid = `uid-${name}`) {
  const [first] = (plainObject("EventCatalog").spec as { readonly types: readonly object[] }).types;
  const list = Object.entries(types).map(([type, sensitive]) => ({ ...structuredClone(first), type, sensitive }));
  return resourceOf("EventCatalog", { types: list }, { name, uid, creationTimestamp: "2026-01-01T00:00:00Z" });
}

function partner(excludeClasses: readonly string[] | undefined, types: readonly string[] = ["payout.*"]) {
  const changes = {
    "subscriptions[0].types": types,
    ...(excludeClasses === undefined ? {} : { "subscriptions[0].payload": { excludeClasses } }),
  };
  return resourceOf("WebhookPartner", changes, { uid: "uid-partner" });
}

/** Compiles after what was published, like an operator or a folder that is edited step by step. */
function installation() {
  const compile = createCompiler();
  let published: RuntimeConfig | undefined;
  return (...resources: readonly Resource[]) => {
    const parts = published === undefined ? new Map() : partsOf(published);
    const { eventCatalogs = [] } = published ?? {};
    const before = {
      partOf: ({ metadata }: Resource) => parts.get(metadata.uid ?? ""),
      eventCatalogs: () => eventCatalogs,
      nowMs: 0,
      lastGoodMs: 1,
    };
    const { config, results } = compile({ resources, secrets, policy: allowAll, before });
    published = config;
    const of = (type: string) => sensitiveFields(config).get(type) ?? [];
    const kept = results.find(({ kind }) => kind === "WebhookPartner")?.keptFields;
    return { config, results, fields: of("payout.a"), kept };
  };
}

describe("fields that a partner excludes by their class", () => {
  const classified = catalog("a", { "payout.a": financial, [other]: [] });
  const excluding = partner(["financial"]);

  test("stay excluded when their catalog is deleted, which the partner's result names", () => {
    const apply = installation();
    expect(apply(classified, excluding)).toMatchObject({ fields: financial, kept: undefined });
    for (const _ of [1, 2, 3]) {
      const { config, fields, kept, results } = apply(excluding);
      expect(fields).toEqual(financial);
      expect(kept).toEqual(["/id of payout.a (class financial in EventCatalog default/a)"]);
      expect(results[0]?.warnings.join()).toContain("no event catalog declares the field /id of payout.a");
      expect([...declaredTypes(config).keys()]).toEqual([]);
      expect(config.eventCatalogs).toMatchObject([{ name: "a", deleted: true, types: [] }]);
    }
  });

  test("stay excluded when their type is removed from the catalog", () => {
    const apply = installation();
    apply(classified, excluding);
    const first = apply(catalog("a", { [other]: [] }), excluding);
    expect(first).toMatchObject({ fields: financial, kept: [expect.stringContaining("payout.a")] });
    const again = apply(catalog("a", { [other]: [] }), excluding);
    expect(again.config.eventCatalogs?.[0]).toBe(first.config.eventCatalogs?.[0]);
  });

  test("stay excluded when a catalog of another name takes over the type", () => {
    const apply = installation();
    const without = catalog("b", { "payout.a": [] });
    apply(classified, without, excluding);
    expect(apply(without, excluding)).toMatchObject({ fields: financial, kept: [expect.anything()] });
    const takesOver = catalog("b", { "payout.a": financial });
    expect(apply(takesOver, excluding)).toMatchObject({ fields: [...financial, ...financial], kept: undefined });
    // The catalog that declares the type drops the field: that is the decision of an owner, not an accident.
    expect(apply(without, excluding)).toMatchObject({ fields: [], kept: undefined });
  });

  test("stay excluded when the catalog is created again without the type, and end with the type", () => {
    for (const uid of ["uid-a", "uid-new"]) {
      const apply = installation();
      apply(classified, excluding);
      expect(apply(catalog("a", { [other]: [] }, uid), excluding).fields).toEqual(financial);
      expect(apply(catalog("a", { "payout.a": [] }, uid), excluding).fields).toEqual([]);
    }
  });

  test("stay excluded after the deletion of a catalog that had lost the type to another one", () => {
    const apply = installation();
    apply(classified, excluding);
    const older = resourceOf("EventCatalog", catalog("o", { "payout.a": [] }).spec as never, {
      name: "o",
      uid: "uid-o",
      creationTimestamp: "2025-01-01T00:00:00Z",
    });
    apply(classified, older, excluding);
    expect(apply(older, excluding).fields).toEqual(financial);
  });

  test.each([
    ["excludes the class no more", partner(undefined)],
    ["excludes another class", partner(["personal"])],
    ["excludes it for other types", partner(["financial"], [other])],
  ])("are released when no partner needs them: it %s", (_, released) => {
    const apply = installation();
    apply(classified, excluding);
    expect(apply(released).config.eventCatalogs).toBeUndefined();
    apply(classified, excluding);
    apply(excluding);
    expect(apply(released).config.eventCatalogs).toBeUndefined();
  });
});
