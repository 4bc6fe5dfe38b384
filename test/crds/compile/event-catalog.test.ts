import { contradictionWarnings, eventSchemaProblems, looseWarnings } from "../../../crds/checks/event-catalog.ts";
import type { EventCatalogSpec } from "../../../crds/types/event-catalog.ts";
import { describe, expect, test } from "vitest";
import { compile, createCompiler } from "../../../crds/compile/compile.ts";
import { lastGoodMsDefault } from "../../../crds/compile/last-good.ts";
import { partsOf } from "../../../crds/part.ts";
import { allowAll } from "../../../crds/policy.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { declaredTypes, sensitiveFields } from "../../../crds/declared-types.ts";
import type { Resource } from "../../../crds/resource.ts";
import { plainObject } from "../valid-objects.ts";
import { resourceOf } from "./resources.ts";

const at = "types[0].versions[0]";
const object = (properties: object) => ({ type: "object", properties });

/** Compiles one catalog after a configuration that was published. */
function after(published: RuntimeConfig | undefined, changes: Readonly<Record<string, unknown>>, generation = 2) {
  const resource = resourceOf("EventCatalog", changes, { uid: "u-1", generation });
  const parts = published === undefined ? new Map() : partsOf(published);
  const before = { partOf: () => parts.get("u-1"), nowMs: 0, lastGoodMs: lastGoodMsDefault };
  const { config, results } = compile({ resources: [resource], secrets: new Map(), policy: allowAll, before });
  return { config, result: results[0] };
}

describe("a catalog of events", () => {
  const first = after(undefined, {}, 1).config;

  test("is published with its types", () => {
    expect(first.eventCatalogs).toMatchObject([{ owner: "team-payouts", types: [{ type: "payout.processed" }] }]);
  });

  test("that gains an optional property replaces the published one", () => {
    const schema = object({ id: { type: "string" }, memo: { type: "string" } });
    const { config, result } = after(first, { [`${at}.schema`]: schema });
    expect(result?.accepted.reason).toBe("Accepted");
    expect(config.eventCatalogs?.[0]?.types[0]?.versions[0]?.schema).toEqual(schema);
  });

  test("that changes a type within a version is Incompatible, and the published one stays in force", () => {
    const { config, result } = after(first, { [`${at}.schema`]: object({ id: { type: "integer" } }) });
    expect(result?.accepted).toEqual({
      status: false,
      reason: "Incompatible",
      message:
        "spec.types[0].versions[0].schema: /properties/id/type: type changed; " +
        "raise `version` of payout.processed, now 2026-01-31",
    });
    expect(config.eventCatalogs).toEqual(first.eventCatalogs);
  });

  test("that changes a type in a new version is accepted", () => {
    const next = { version: "2026-02-28", schema: object({ id: { type: "integer" } }) };
    const { result } = after(first, { "types[0].versions[1]": next });
    expect(result?.accepted.reason).toBe("Accepted");
  });

  test("that was edited without a published version says so, also once it is published", () => {
    const { config, result } = after(undefined, {});
    expect(result?.accepted).toMatchObject({ reason: "Accepted", message: expect.stringContaining("not compared") });
    expect(after(config, {}).result?.accepted.message).toContain("not compared");
    expect(after(first, {}).result?.accepted.message).not.toContain("not compared");
  });

  test("with an unknown keyword is Invalid, and the published one stays in force", () => {
    const { config, result } = after(first, { [`${at}.schema`]: { type: "object", not: {} } });
    expect(result?.accepted.message).toBe(
      "spec.types[0].versions[0].schema: /not: the keyword not is not supported here",
    );
    expect(config.eventCatalogs).toEqual(first.eventCatalogs);
  });

  test("with a pattern that the engine cannot compile is Invalid, and stops no other object", () => {
    const text = { type: "string", maxLength: 9, pattern: "(?P<a>x)(?P<a>y)" };
    const { result } = after(undefined, { [`${at}.schema`]: object({ id: text }), [`${at}.examples`]: [] }, 1);
    expect(result?.accepted.reason).toBe("Invalid");
  });

  test("with more than 256 patterns that are not simple is Invalid", () => {
    const versions = Array.from({ length: 20 }, (_, index) => {
      const names = Array.from({ length: 13 }, (_one, place) => `(a|b)${index}_${place}c*d*`);
      const text = (pattern: string) => ({ type: "string", maxLength: 9, pattern });
      const schema = object(Object.fromEntries(names.map((pattern, place) => [`p${place}`, text(pattern)])));
      return { version: `2026-01-${index + 10}`, schema };
    });
    const accepted = (count: number) =>
      after(undefined, { "types[0].versions": versions.slice(0, count) }, 1).result?.accepted.message;
    expect(accepted(19)).not.toContain("patterns");
    expect(accepted(20)).toContain("spec.types[0]: a catalog has at most 256 different patterns");
  });

  test("with an example that its schema rejects is Invalid", () => {
    const { result } = after(first, { [`${at}.examples`]: [{ id: 1 }] });
    expect(result?.accepted.message).toBe("spec.types[0].versions[0].examples[0]: /id: must be of type string");
  });

  test("with a sensitive field that no version declares is Invalid", () => {
    const { result } = after(first, { "types[0].sensitive": [{ pointer: "/iban", class: "financial" }] });
    expect(result?.accepted.message).toBe(
      "spec.types[0].sensitive[0].pointer: no version of the type declares /iban; pointers begin below data",
    );
  });

  test("with a sensitive field that only additionalProperties allows has a warning", () => {
    const schema = {
      ...object({ accounts: object({ iban: { type: "string" } }) }),
      additionalProperties: { type: "string" },
    };
    const sensitive = ["/accounts/iban", "/acount"].map((pointer) => ({ pointer, class: "financial" }));
    const { result } = after(
      undefined,
      { [`${at}.schema`]: schema, [`${at}.examples`]: [], "types[0].sensitive": sensitive },
      1,
    );
    expect(result?.accepted.reason).toBe("Accepted");
    const warning =
      "sensitive field /acount of payout.processed: only additionalProperties allows it; check its spelling";
    expect(result?.warnings).toContain(warning);
    expect(result?.warnings.filter((text) => text.includes("sensitive field"))).toEqual([warning]);
    const unchecked = { type: "payout.processed", sensitive, versions: [{ version: "2026-01-31", schema }] };
    expect(looseWarnings({ types: [unchecked] } as unknown as EventCatalogSpec)).toEqual([warning]);
  });

  test("with branches that refer to each other looks for a sensitive field in each definition once", () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const anyOf = Array.from({ length: 10 }, () => ({ $ref: `#/$defs/n${level}` }));
      return [`n${level + 1}`, { anyOf }] as const;
    });
    const $defs = { n0: object({ iban: { type: "string" } }), ...Object.fromEntries(levels) };
    const schema = { ...object({ account: { $ref: "#/$defs/n12" } }), $defs };
    const sensitive = (pointer: string) => ({
      [`${at}.schema`]: schema,
      [`${at}.examples`]: [],
      "types[0].sensitive": [{ pointer, class: "financial" }],
    });
    expect(after(undefined, sensitive("/account/bic"), 1).result?.accepted.message).toBe(
      "spec.types[0].sensitive[0].pointer: no version of the type declares /account/bic; pointers begin below data",
    );
    expect(after(undefined, sensitive("/account/iban"), 1).result?.accepted.reason).toBe("Accepted");
  });

  test.each<readonly [says: string, schema: object, warning: string | undefined]>([
    ["an empty range", { minimum: 3, maximum: 2 }, "no value is between minimum and maximum"],
    [
      "an open range of one value",
      { exclusiveMinimum: 2, maximum: 2 },
      "no value is between exclusiveMinimum and maximum",
    ],
    ["a range of one value", { minimum: 2, maximum: 2 }, undefined],
    ["lengths the wrong way round", { minLength: 9, maxLength: 8 }, "no value is between minLength and maxLength"],
    [
      "an enumeration of another type",
      { type: "string", enum: [1, 2] },
      "other keywords reject 1 of the enumeration or constant: no value is valid",
    ],
    [
      "a value that is too long",
      { type: "string", enum: ["ok", "too long"], maxLength: 2 },
      'other keywords reject "too long" of the enumeration or constant: this value is never valid',
    ],
    ["an enumeration that fits", { type: ["string", "null"], enum: ["ok", null] }, undefined],
  ])("warns of a schema that accepts nothing: %s", (_, schema, warning) => {
    const nested = object({ list: { type: "array", items: schema } });
    const { result } = after(undefined, { [`${at}.schema`]: nested, [`${at}.examples`]: [] }, 1);
    const where = "schema of version 2026-01-31 of payout.processed: /properties/list/items";
    expect(result?.accepted.reason).toBe("Accepted");
    expect(result?.warnings).toEqual(warning === undefined ? [] : [`${where}: ${warning}`]);
  });

  test("warns of a deprecated version", () => {
    const { result } = after(first, {
      [`${at}.state`]: "Deprecated",
      [`${at}.deprecatedAt`]: "2026-01-01T00:00:00Z",
      [`${at}.sunsetAt`]: "2027-01-01T00:00:00Z",
    });
    expect(result?.warnings).toEqual([
      "version 2026-01-31 of payout.processed is deprecated since 2026-01-01T00:00:00Z, with 2027-01-01T00:00:00Z as " +
        "the end of new events",
    ]);
  });

  test("warns of contradictions without parsing a schema again", () => {
    let reads = 0;
    const schema = {
      type: "object",
      get properties() {
        reads += 1;
        return { id: { type: "string", minLength: 3, maxLength: 2 } };
      },
    };
    const spec = {
      types: [{ type: "payout.done", versions: [{ version: "2026-01-31", schema, examples: [] }], sensitive: [] }],
    };
    expect(eventSchemaProblems(spec as unknown as EventCatalogSpec)).toEqual([]);
    const before = reads;
    expect(contradictionWarnings(spec as unknown as EventCatalogSpec)).toEqual([
      "schema of version 2026-01-31 of payout.done: /properties/id: no value is between minLength and maxLength",
    ]);
    expect([before > 0, reads]).toEqual([true, before]);
  });

  const typed = (...names: readonly string[]) =>
    Object.fromEntries(
      names.flatMap((type, index) => [
        [
          `types[${index}]`,
          structuredClone((plainObject("EventCatalog").spec as { readonly types: readonly object[] }).types[0]),
        ],
        [`types[${index}].type`, type],
        [`types[${index}].sensitive`, [{ pointer: "/id", class: "financial" }]],
      ]),
    );
  const olderCatalog = (...names: readonly string[]) =>
    resourceOf(
      "EventCatalog",
      { ...typed(...names), ...Object.fromEntries(names.map((_, index) => [`types[${index}].sensitive`, []])) },
      { name: "older", uid: "u-0", creationTimestamp: "2026-01-01T00:00:00Z" },
    );
  const youngerCatalog = resourceOf("EventCatalog", typed("payout.a", "payout.b"), {
    name: "younger",
    uid: "u-1",
    creationTimestamp: "2026-01-02T00:00:00Z",
  });
  const typesOf = ({ eventCatalogs = [] }: RuntimeConfig) =>
    eventCatalogs.map(({ name, types, formerTypes = [] }) => [
      name,
      types.map(({ type }) => type),
      formerTypes.map(({ type }) => type),
    ]);
  const financial = [{ pointer: "/id", class: "financial" }];

  test("keeps the types that no older catalog declares", () => {
    const resources = [youngerCatalog, olderCatalog("payout.a")];
    const { config, results } = compile({ resources, secrets: new Map(), policy: allowAll });
    expect(results.map(({ name, accepted }) => [name, accepted.reason])).toEqual([
      ["older", "Accepted"],
      ["younger", "Conflicted"],
    ]);
    expect(typesOf(config)).toEqual([
      ["older", ["payout.a"], []],
      ["younger", ["payout.b"], []],
    ]);
    // It never declared the type, so it has no say in what is sensitive in it.
    expect(sensitiveFields(config)).toEqual(
      new Map([
        ["payout.a", []],
        ["payout.b", financial],
      ]),
    );
  });

  test("that loses a type which it declared keeps the type's sensitive fields, however often it is compiled", () => {
    const createdCompile = createCompiler();
    let published = createdCompile({ resources: [youngerCatalog], secrets: new Map(), policy: allowAll }).config;
    for (const _ of [1, 2, 3]) {
      const parts = partsOf(published);
      const before = { partOf: ({ metadata }: Resource) => parts.get(metadata.uid ?? ""), nowMs: 0, lastGoodMs: 1 };
      const resources = [youngerCatalog, olderCatalog("payout.a", "payout.b")];
      published = createdCompile({ resources, secrets: new Map(), policy: allowAll, before }).config;
      expect(typesOf(published)).toEqual([
        ["older", ["payout.a", "payout.b"], []],
        ["younger", [], ["payout.a", "payout.b"]],
      ]);
      expect(sensitiveFields(published).get("payout.b")).toEqual(financial);
      expect(declaredTypes(published).get("payout.b")?.sensitive).toEqual(financial);
    }
  });

  test("keeps permitted types and all sensitive fields when the policy grants less", () => {
    const published = compile({ resources: [youngerCatalog], secrets: new Map(), policy: allowAll }).config;
    const parts = partsOf(published);
    const before = { partOf: () => parts.get("u-1"), nowMs: 0, lastGoodMs: 1 };
    const [all] = allowAll.grants;
    const policy = { grants: all === undefined ? [] : [{ ...all, eventTypes: ["payout.b"] }] };
    const { config, results } = compile({ resources: [youngerCatalog], secrets: new Map(), policy, before });
    expect(results[0]?.accepted.reason).toBe("NotPermitted");
    expect(typesOf(config)).toEqual([["younger", ["payout.b"], ["payout.a"]]]);
    expect(sensitiveFields(config).get("payout.a")).toEqual(financial);
  });

  test("is compiled once while nothing changes", () => {
    const compileAgain = createCompiler();
    let published = compileAgain({ resources: [youngerCatalog], secrets: new Map(), policy: allowAll }).config;
    const catalogs = [1, 2, 3].map(() => {
      const parts = partsOf(published);
      const before = { partOf: () => parts.get("u-1"), nowMs: 0, lastGoodMs: 1 };
      published = compileAgain({ resources: [youngerCatalog], secrets: new Map(), policy: allowAll, before }).config;
      return published.eventCatalogs?.[0];
    });
    expect(catalogs[1]).toBe(catalogs[0]);
    expect(catalogs[2]).toBe(catalogs[0]);
  });

  const ten = Array.from({ length: 10 }, (_, index) => ({
    version: `2026-01-${index + 10}`,
    schema: object({ id: { type: "string" } }),
  }));
  const typesWith = (name: string, count: number) =>
    Array.from({ length: Math.ceil(count / 10) }, (_, index) => ({
      type: `${name}.t${index}`,
      description: "A type.",
      versions: ten.slice(0, count - index * 10),
    }));
  const catalogWith = (index: number, types: ReturnType<typeof typesWith>) =>
    resourceOf(
      "EventCatalog",
      { types },
      { name: `c-${index}`, uid: `u-${index}`, creationTimestamp: `2026-01-0${index + 1}T00:00:00Z` },
    );
  const sized = (...sizes: readonly number[]) =>
    sizes.map((size, index) => catalogWith(index, typesWith(`payout${index}`, size)));
  const compileAll = (published: RuntimeConfig | undefined, resources: readonly Resource[]) => {
    const parts = published === undefined ? new Map() : partsOf(published);
    const before = { partOf: ({ metadata }: Resource) => parts.get(metadata.uid ?? ""), nowMs: 0, lastGoodMs: 1 };
    return compile({ resources, secrets: new Map(), policy: allowAll, before });
  };

  test("has as many more versions as others leave, without the types that it loses to them", () => {
    const others = sized(200, 200, 200, 200, 190);
    const some = catalogWith(5, [...typesWith("payout0", 10), ...typesWith("other", 10)]);
    const { config, results } = compileAll(undefined, [...others, some]);
    expect(results[5]?.accepted.message).toMatch(/^spec\.types\[0\]\.type: the event type payout0\.t0 belongs to/u);
    expect(config.eventCatalogs?.[5]?.types.map(({ type }) => type)).toEqual(["other.t0"]);
  });

  test("with too many versions keeps its earlier types, without those that it loses", () => {
    const resources = sized(200, 200, 200, 200, 180, 20);
    const { config: full } = compileAll(undefined, resources);
    const older = catalogWith(4, [...typesWith("payout4", 170), ...typesWith("payout5", 10)]);
    const grown = catalogWith(5, typesWith("payout5", 40));
    const { config } = compileAll(full, [...resources.slice(0, 4), older, grown]);
    const all = (config.eventCatalogs ?? []).flatMap(({ types }) => types.map(({ type }) => type));
    expect(all).toHaveLength(new Set(all).size);
    expect(declaredTypes(config).get("payout5.t0")?.catalog).toBe("default/c-4");
    expect(declaredTypes(config).get("payout5.t1")?.catalog).toBe("default/c-5");
  });

  test("is applied while all catalogs have at most 1,000 versions, and keeps its version otherwise", () => {
    const counts = ({ eventCatalogs = [] }: RuntimeConfig) =>
      eventCatalogs.map(({ types }) => types.reduce((sum, { versions }) => sum + versions.length, 0));
    const compileAfter = (published: RuntimeConfig | undefined, sizes: readonly number[]) =>
      compileAll(published, sized(...sizes));
    const full = compileAfter(undefined, [200, 200, 200, 200, 190, 20]);
    expect(counts(full.config)).toEqual([200, 200, 200, 200, 190]);
    expect(full.results[5]?.accepted).toEqual({
      status: false,
      reason: "Conflicted",
      message:
        "spec.types: all event catalogs together have at most 1,000 versions; the others have 990, and this one would " +
        "have 20: remove versions that are past their sunsetAt",
    });
    const fits = compileAfter(full.config, [200, 200, 200, 200, 190, 10]).config;
    expect(counts(fits)).toEqual([200, 200, 200, 200, 190, 10]);
    // The older one grows, and neither it nor the younger one loses what is applied.
    const grown = compileAfter(fits, [200, 200, 200, 200, 191, 10]);
    expect(counts(grown.config)).toEqual([200, 200, 200, 200, 190, 10]);
    expect(grown.results.map(({ accepted }) => accepted.status)).toEqual([true, true, true, true, false, true]);
  });

  test("yields a type to an older catalog", () => {
    const [older, younger] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"].map((creationTimestamp, index) =>
      resourceOf("EventCatalog", {}, { name: `catalog-${1 - index}`, uid: `u-${index}`, creationTimestamp }),
    );
    const resources = [younger, older].flatMap((one) => one ?? []);
    const { config, results } = compile({ resources, secrets: new Map(), policy: allowAll });
    expect(config.eventCatalogs?.map(({ uid }) => uid)).toEqual(["u-0"]);
    expect(results.map(({ name, accepted }) => [name, accepted.reason, accepted.message])).toEqual([
      [
        "catalog-0",
        "Conflicted",
        "spec.types[0].type: the event type payout.processed belongs to EventCatalog default/catalog-1, which is older",
      ],
      ["catalog-1", "Accepted", expect.anything()],
    ]);
  });

  test("declares only types that the policy grants", () => {
    const [all] = allowAll.grants;
    const policy = { grants: all === undefined ? [] : [{ ...all, eventTypes: ["refund.*", "payout.created"] }] };
    const { results } = compile({ resources: [resourceOf("EventCatalog")], secrets: new Map(), policy });
    expect(results[0]?.accepted).toMatchObject({
      reason: "NotPermitted",
      message: "spec.types[0].type: the policy does not grant the namespace the event type payout.processed",
    });
  });
});
