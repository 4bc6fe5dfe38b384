import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ResourceResult } from "../../crds/compile/resource-result.ts";
import { decideConditions, type Facts, withTimes } from "../../operator/conditions.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { statusDefault } from "../crds/status-default.ts";
import { goodResult as good } from "../operator/good-result.ts";

const recipe = join(import.meta.dirname, "..", "..", "docs", "recipes", "argocd.yaml");
const judgeMsMax = 60_000;
/** What the API server says of an object that was just made, by the default in the schema. */
const unseen = statusDefault("webhook-partner");
const now = "2026-01-01T00:00:00Z";

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder("health");
});
afterAll(() => folder.remove());

const refused: ResourceResult = { ...good, accepted: { status: false, reason: "NotPermitted", message: "no" } };
const inForce: Facts = {
  generation: 4,
  isPaused: false,
  isSuspended: false,
  columns: {},
  result: good,
  isTooLarge: false,
  inForce: 4,
  isPublished: true,
  rollout: { kind: "programmed" },
  disabled: undefined,
};
const nothing: Facts = {
  ...inForce,
  result: undefined,
  inForce: undefined,
  isPublished: false,
  rollout: { kind: "waiting", untilMs: 0 },
};

interface Row {
  readonly when: string;
  /** What the operator knows; undefined for an object that it has not seen. */
  readonly facts: Facts | undefined;
  /** Of the object, when it is another than that of the status. */
  readonly generation?: number;
  readonly flux: string;
  readonly argo: string;
}

const rows: readonly Row[] = [
  { when: "every pod applies it", facts: inForce, flux: "Current", argo: "Healthy" },
  { when: "no operator has seen it", facts: undefined, flux: "InProgress", argo: "Progressing" },
  { when: "it was not looked at yet", facts: nothing, flux: "InProgress", argo: "Progressing" },
  { when: "it was edited since", facts: inForce, generation: 5, flux: "InProgress", argo: "Progressing" },
  {
    when: "pods are about to apply it",
    facts: { ...inForce, rollout: { kind: "waiting", untilMs: 0 } },
    flux: "InProgress",
    argo: "Progressing",
  },
  {
    when: "a pod is behind",
    facts: { ...inForce, rollout: { kind: "lagging", pods: "rt-1 of 2 ready pods" } },
    flux: "InProgress",
    argo: "Progressing",
  },
  {
    when: "it is refused",
    facts: { ...nothing, result: refused, isPublished: true },
    // A grant can still arrive.
    flux: "InProgress",
    argo: "Progressing",
  },
  {
    when: "it does not fit",
    facts: { ...nothing, result: good, isTooLarge: true, isPublished: true },
    flux: "Failed",
    argo: "Degraded",
  },
  {
    when: "the partner is disabled",
    facts: { ...inForce, disabled: "it answered 410" },
    flux: "Failed",
    argo: "Degraded",
  },
  {
    when: "it is paused at an earlier generation",
    facts: { ...inForce, isPaused: true, inForce: 3 },
    flux: "InProgress",
    argo: "Progressing",
  },
];

function objectOf({ facts, generation = 4 }: Row): object {
  const head = {
    apiVersion: "heliograph.dev/v1alpha1",
    kind: "WebhookPartner",
    metadata: { namespace: "shop", name: "acme", generation },
  };
  if (facts === undefined) return { ...head, status: unseen };
  const conditions = withTimes(decideConditions(facts), [], now);
  const observedGeneration = conditions.find(({ type }) => type === "Ready")?.observedGeneration;
  return { ...head, status: { observedGeneration, conditions } };
}

/** The Lua of each kind, by the name of its setting. */
async function healthChecks(): Promise<ReadonlyMap<string, string>> {
  const documents = parseAllDocuments(await readFile(recipe, "utf8")).map(
    (document) => document.toJS() as { readonly kind: string; readonly data?: Readonly<Record<string, string>> },
  );
  return new Map(documents.filter(({ kind }) => kind === "ConfigMap").flatMap(({ data = {} }) => Object.entries(data)));
}

interface Judged {
  readonly flux: { readonly status: string; readonly message: string };
  readonly argo: { readonly status: string; readonly message: string };
}

async function judged(lua: string, objects: readonly object[]): Promise<readonly Judged[]> {
  const file = join(folder.path, "input.json");
  await writeFile(file, JSON.stringify({ lua, objects }));
  const { code, stdout, stderr } = await run(await resolveTool("resource-health"), [file], { timeoutMs: judgeMsMax });
  if (code !== 0) throw new Error(stderr);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Judged);
}

describe("what a resource says is understood", () => {
  test("by Flux's kstatus and by Argo CD, with the Lua of the recipe, whatever has become of it", async () => {
    const [lua = ""] = (await healthChecks()).values();
    const results = await judged(lua, rows.map(objectOf));
    const said = rows.map(({ when }, index) => ({
      when,
      flux: results[index]?.flux.status,
      argo: results[index]?.argo.status,
    }));
    expect(said).toEqual(rows.map(({ when, flux, argo }) => ({ when, flux, argo })));
    expect(results[rows.findIndex(({ when }) => when === "it is refused")]?.argo.message).toBe("NotPermitted: no");
  });

  test("for each of the three kinds alike", async () => {
    const checks = await healthChecks();
    expect([...checks.keys()].toSorted()).toEqual(
      ["MetricCatalog", "QueryClassQuota", "WebhookPartner"].map(
        (kind) => `resource.customizations.health.heliograph.dev_${kind}`,
      ),
    );
    expect(new Set(checks.values()).size).toBe(1);
  });
});
