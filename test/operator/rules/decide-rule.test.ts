import { describe, expect, test } from "vitest";
import {
  decideRule,
  type GeneratedRules,
  isContested,
  nextRepairAt,
  refreshAt,
  tenantsOf,
} from "../../../operator/rules/decide-rule.ts";
import type { RuleObject } from "../../../operator/rules/rule-object.ts";

const dayMs = 86_400_000;
const today = Date.parse("2026-11-27T00:00:00Z");
const owner = { namespace: "team", name: "shop", uid: "uid-1" };
const rulesOf = (day: number, silencedUntilMs?: number): GeneratedRules => {
  return { spec: { groups: [{ name: "g", day }] }, alerts: 2, silencedUntilMs };
};
const reference = { apiVersion: "heliograph.dev/v1alpha1", kind: "MetricCatalog", name: "shop", uid: "uid-1" };
const owned = (day: number, metadata: RuleObject["metadata"] = {}): RuleObject => ({
  metadata: {
    name: "shop-slos",
    labels: { "app.kubernetes.io/managed-by": "heliograph-operator", team: "theirs" },
    annotations: { "heliograph.dev/rules-day": new Date(day).toISOString().slice(0, 10) },
    ownerReferences: [reference],
    ...metadata,
  },
  spec: rulesOf(day).spec,
});
const input = { owner, name: "shop-slos", labels: {}, todayMs: today, current: undefined, rulesOn: rulesOf };
const kindOf = (changes: Partial<Parameters<typeof decideRule>[0]>): string =>
  decideRule({ ...input, ...changes }).kind;

describe("the object of a catalog", () => {
  test.each([
    ["is written when there is none", {}, "write"],
    ["is kept on a later day", { current: owned(today - 9 * dayMs) }, "keep"],
    ["is written for a day in the future", { current: owned(today + dayMs) }, "write"],
    ["is written without a day", { current: owned(today, { annotations: {} }) }, "write"],
    ["is written without its labels", { current: owned(today, { labels: {} }) }, "write"],
    ["is written with a new label", { current: owned(today), labels: { release: "a" } }, "write"],
    ["is deleted without rules", { current: owned(today), rulesOn: undefined }, "delete"],
    [
      "is deleted without alerts",
      { current: owned(today), rulesOn: () => ({ ...rulesOf(today), alerts: 0 }) },
      "delete",
    ],
    ["of nobody needs no deletion", { rulesOn: undefined }, "none"],
    ["of somebody else is reported", { current: owned(today, { ownerReferences: [] }) }, "report"],
    ["of somebody else is not deleted", { current: owned(today, { ownerReferences: [] }), rulesOn: undefined }, "none"],
    [
      "that was handed over is not deleted without rules",
      {
        current: owned(today, { ownerReferences: [], annotations: { "heliograph.dev/adopt": "true" } }),
        rulesOn: undefined,
      },
      "none",
    ],
    [
      "of an earlier catalog of the name is waited for",
      { current: owned(today, { ownerReferences: [{ ...reference, uid: "uid-0" }] }) },
      "wait",
    ],
    ["is left without tenants", { current: owned(today), rulesOn: () => ({ tenantFault: "none" }) }, "report"],
  ] as const)("%s", (_what, changes, kind) => {
    expect(kindOf(changes as Partial<Parameters<typeof decideRule>[0]>)).toBe(kind);
  });

  test("has the rules of the present day when its intervals run out", () => {
    const rulesOn = (day: number): GeneratedRules => rulesOf(day, day + 35 * dayMs);
    expect(kindOf({ current: owned(today - 16 * dayMs), rulesOn })).toBe("keep");
    const step = decideRule({ ...input, current: owned(today - 17 * dayMs), rulesOn });
    expect(step).toMatchObject({ kind: "write", dayMs: today, object: { spec: rulesOf(today).spec } });
  });

  test("loses labels that the operator set and no longer wants, but none that another program claims", () => {
    const fields = (...names: readonly string[]) => ({
      "f:metadata": {
        "f:labels": Object.fromEntries([".", ...names.map((name) => `f:${name}`)].map((key) => [key, {}])),
      },
    });
    const managedFields = [
      { manager: "heliograph-operator", operation: "Update", fieldsV1: fields("a", "b", "gone") },
      { manager: "deployer", operation: "Apply", fieldsV1: fields("b", "c") },
      { manager: "prometheus-operator", operation: "Update", subresource: "status", fieldsV1: { "f:status": {} } },
    ];
    const managed = { "app.kubernetes.io/managed-by": "heliograph-operator" };
    const current = owned(today, { labels: { ...managed, a: "1", b: "1", c: "1" }, managedFields });
    const step = decideRule({ ...input, current });
    expect(step.kind === "write" && step.object.metadata.labels).toEqual({ ...managed, b: "1", c: "1" });
    expect(kindOf({ current, labels: { a: "1" } })).toBe("keep");
  });

  test("keeps labels, annotations and owners of others", () => {
    const other = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "uid-2" };
    const current = owned(today - dayMs, { annotations: { seen: "yes" }, ownerReferences: [other, reference] });
    const step = decideRule({ ...input, current });
    expect(step).toMatchObject({
      kind: "write",
      object: {
        metadata: {
          labels: { team: "theirs" },
          annotations: { seen: "yes", "heliograph.dev/rules-day": "2026-11-27" },
          ownerReferences: [other, reference],
        },
      },
    });
  });
});

test("rules are refreshed after half of the silenced days, at least one", () => {
  expect(refreshAt(today, undefined)).toBe(Number.POSITIVE_INFINITY);
  expect(refreshAt(today, today + 35 * dayMs)).toBe(today + 17 * dayMs);
  expect(refreshAt(today, today + 1.5 * dayMs)).toBe(today + dayMs);
});

test("repairs wait ever longer until it has been quiet, and the third counts as contested", () => {
  const waits = [0, 1, 2, 5, 20].map((repairs) => nextRepairAt({ repairs, atMs: 1_000 }, 1_000) - 1_000);
  expect(waits).toEqual([0, 5_000, 10_000, 80_000, 600_000]);
  expect(nextRepairAt({ repairs: 9, atMs: 0 }, 900_000)).toBe(900_000);
  expect([2, 3].map((repairs) => isContested({ repairs, atMs: 0 }, 899_999))).toEqual([false, true]);
  expect(isContested({ repairs: 3, atMs: 0 }, 900_000)).toBe(false);
});

test("tenants of the annotation are sorted and named once", () => {
  expect(tenantsOf({ annotations: { "heliograph.dev/rule-tenants": " b, a,,b" } })).toEqual(["a", "b"]);
  expect(tenantsOf({})).toEqual([]);
});
