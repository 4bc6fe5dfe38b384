import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../crds/compile/canonical-json.ts";
import { compile, createCompiler } from "../../../crds/compile/compile.ts";
import type { ConfigPart } from "../../../crds/part.ts";
import { allowAll, type InstallationPolicy } from "../../../crds/policy.ts";
import type { Resource } from "../../../crds/resource.ts";
import { compiled, first, keyOf, materialOf, resourceOf } from "./resources.ts";

const older = "2026-01-01T00:00:00Z";
const younger = "2026-01-02T00:00:00Z";

const policies: readonly InstallationPolicy[] = [allowAll, { grants: [] }];
const names = ["a", "b", "c", "d"];
const secretsBy = (bytes: readonly (number | undefined)[]) =>
  new Map(
    bytes.flatMap((byte, index) =>
      byte === undefined ? [] : [[`default/${names[index] ?? ""}`, { hmac: keyOf(byte) }] as const],
    ),
  );

/** One state of all inputs: the version of each object, the bytes of each Secret, the policy. */
const steps = fc.record({
  partners: fc.array(fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }), { minLength: 4, maxLength: 4 }),
  quotas: fc.array(fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }), { minLength: 4, maxLength: 4 }),
  secrets: fc.array(fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }), { minLength: 4, maxLength: 4 }),
  policy: fc.constantFrom(0, 0, 0, 1),
  held: fc.subarray(names),
});

/** The very same object for the same version, as an informer gives it. */
function objects(): (kind: "WebhookPartner" | "QueryClassQuota", name: string, version: number) => Resource {
  const known = new Map<string, Resource>();
  return (kind, name, version) => {
    const key = `${kind}/${name}/${version}`;
    const changes =
      kind === "WebhookPartner"
        ? { "signing.keys[0].secretRef.name": name, "delivery.maxInFlight": version }
        : { clients: [{ clientId: version === 2 ? "shared" : name }] };
    const creationTimestamp = name < "c" ? younger : older;
    const resource = known.get(key) ?? resourceOf(kind, changes, { name, generation: version + 1, creationTimestamp });
    known.set(key, resource);
    return resource;
  };
}

function heldPart(name: string): ConfigPart {
  const config = first(
    compiled([resourceOf("QueryClassQuota", { clients: [{ clientId: `held-${name}` }] }, { name })]).config.quotas,
  );
  return { kind: "QueryClassQuota", config, material: {} };
}

describe("a compiler with a cache", () => {
  test("gives the result of a fresh one, whatever it compiled before", () => {
    fc.assert(
      fc.property(fc.array(steps, { minLength: 1, maxLength: 6 }), (history) => {
        const objectOf = objects();
        const compileNext = createCompiler();
        const parts = new Map(names.map((name) => [name, heldPart(name)]));
        for (const step of history) {
          const partners = step.partners.map(
            (version, index) => [version, "WebhookPartner", names[index] ?? ""] as const,
          );
          const quotas = step.quotas.map((version, index) => [version, "QueryClassQuota", names[index] ?? ""] as const);
          const resources = [...partners, ...quotas].flatMap(([version, kind, name]) => {
            return version === undefined ? [] : [objectOf(kind, name, version)];
          });
          const held = new Map(
            resources.flatMap((resource): [Resource, ConfigPart][] => {
              const part = parts.get(resource.metadata.name);
              const isHeld = resource.kind === "QueryClassQuota" && step.held.includes(resource.metadata.name);
              return isHeld && part !== undefined ? [[resource, part]] : [];
            }),
          );
          const input = {
            resources,
            secrets: secretsBy(step.secrets),
            policy: policies[step.policy] ?? allowAll,
            held,
          };
          expect(canonicalJson(compileNext(input))).toBe(canonicalJson(compile(input)));
        }
      }),
    );
  });

  test("gives what did not change as the very objects it was", () => {
    const compileNext = createCompiler();
    const secrets = secretsBy([1, 2, 2]);
    const policy = allowAll;
    const [a, b, c] = names
      .slice(0, 3)
      .map((name) => resourceOf("WebhookPartner", { "signing.keys[0].secretRef.name": name }, { name }));
    if (a === undefined || b === undefined || c === undefined) return;
    const before = compileNext({ resources: [a, b, c], secrets, policy });
    const edited = { ...a, metadata: { ...a.metadata, generation: 2 } };
    const after = compileNext({ resources: [edited, b, c], secrets: new Map(secrets), policy });
    expect(after.config.partners[1]).toBe(before.config.partners[1]);
    expect(after.results.slice(1)).toEqual(before.results.slice(1));
    expect(after.results[1]).toBe(before.results[1]);
    expect(before.results[2]?.accepted.reason).toBe("SharedSigningKey");
    expect(after.results[2]).toBe(before.results[2]);
    expect(after.config.partners[0]).toMatchObject({ generation: 2 });
  });

  test("notices a Secret that was missing before", () => {
    const compileNext = createCompiler();
    const resources = [resourceOf("WebhookPartner", { "signing.keys[0].secretRef.name": "a" })];
    const heldOf = (secrets: ReturnType<typeof secretsBy>) =>
      compileNext({ resources, secrets, policy: allowAll }).config.partners.map(({ held }) => held);
    expect(heldOf(secretsBy([]))).toEqual(["unresolved"]);
    expect(heldOf(secretsBy([1]))).toEqual([undefined]);
  });
});

describe("an object of which something is held", () => {
  const partner = resourceOf("WebhookPartner", {}, { name: "held", creationTimestamp: older });
  const published = compiled([partner]).config;
  const part: ConfigPart = { kind: "WebhookPartner", config: first(published.partners), material: published.material };
  const withHeld = (
    resource: Resource,
    others: readonly Resource[] = [],
    secrets: ReadonlyMap<string, "unreadable"> = new Map(),
  ) => compile({ resources: [resource, ...others], secrets, policy: allowAll, held: new Map([[resource, part]]) });

  test("keeps it applied, key included, whatever its present spec", () => {
    const edited = resourceOf("WebhookPartner", { "endpoint.url": "nonsense" }, { name: "held", generation: 2 });
    const { config, results } = withHeld(edited);
    expect(canonicalJson(config)).toBe(canonicalJson(published));
    expect(first(results).accepted.reason).toBe("Invalid");
  });

  test("keeps it applied when a Secret cannot be read, and reports that", () => {
    const { config, results } = withHeld(partner, [], new Map([["default/partner", "unreadable"]]));
    expect(canonicalJson(config)).toBe(canonicalJson(published));
    expect(first(results).resolvedRefs).toEqual({
      status: false,
      reason: "SecretNotReadable",
      message: "spec.signing.keys[0].secretRef.name: the Secret default/partner cannot be read",
    });
  });

  test("holds the unique keys of the held part, not of the spec", () => {
    const quota = (name: string, clientId: string, creationTimestamp: string) =>
      resourceOf("QueryClassQuota", { clients: [{ clientId }] }, { name, creationTimestamp });
    const paused = quota("paused", "new", older);
    const heldQuota: ConfigPart = {
      kind: "QueryClassQuota",
      config: first(compiled([quota("paused", "old", older)]).config.quotas),
      material: {},
    };
    const resources = [paused, quota("x", "old", younger), quota("y", "new", younger)];
    const { results } = compile({
      resources,
      secrets: new Map(),
      policy: allowAll,
      held: new Map([[paused, heldQuota]]),
    });
    expect(results.map(({ name, accepted }) => [name, accepted.reason])).toEqual([
      ["paused", "Accepted"],
      ["x", "Conflicted"],
      ["y", "Accepted"],
    ]);
  });

  test("gives way to an older object with the same key bytes or metric, named without its place", () => {
    const elder = resourceOf("WebhookPartner", {}, { name: "elder", creationTimestamp: "2025-01-01T00:00:00Z" });
    const secrets = new Map([["default/partner", { hmac: keyOf(1) }]]);
    const { config, results } = compile({
      resources: [elder, partner],
      secrets,
      policy: allowAll,
      held: new Map([[partner, part]]),
    });
    expect(config.partners.map(({ name }) => name)).toEqual(["elder"]);
    expect(Object.keys(config.material)).toEqual([materialOf("default/partner/hmac", keyOf(1))]);
    expect(results[1]?.accepted).toMatchObject({
      reason: "SharedSigningKey",
      message: expect.stringMatching(/^spec\.signing\.keys\.secretRef: /u),
    });
  });

  test("holds the metrics of a held catalog", () => {
    const heldCatalog = compiled([resourceOf("MetricCatalog")]).config.catalogs;
    const paused = resourceOf(
      "MetricCatalog",
      { "metrics[0].id": "another" },
      { name: "paused", creationTimestamp: older },
    );
    const rival = resourceOf("MetricCatalog", {}, { name: "rival", creationTimestamp: younger });
    const held = new Map<Resource, ConfigPart>([
      [paused, { kind: "MetricCatalog", config: first(heldCatalog), material: {} }],
    ]);
    const { results } = compile({ resources: [paused, rival], secrets: new Map(), policy: allowAll, held });
    expect(results.map(({ accepted }) => accepted.reason)).toEqual(["Accepted", "Conflicted"]);
  });
});
