import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Kind } from "../../crds/resource.ts";
import { definitionsIn, type VersionedDefinition } from "../crds/api-versions.ts";
import { largestCatalog, largestPartner, largestQuota } from "../crds/largest-objects.ts";
import { type Changes, plainObject, type PlainObject } from "../crds/valid-objects.ts";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { waitFor } from "../support/wait.ts";
import type { Schema } from "../tools/definition-schema.ts";
import { rendered } from "./judges.ts";

const namespace = "demo";
const policyMsMax = 30_000;
const template = "templates/admission-policies.yaml";

let kube: KubeApiHandle;

beforeAll(async () => {
  kube = await startKubeApi();
  await mustRun(["create", "namespace", namespace]);
  await mustRun(["apply", "--server-side", "-f", "-"], { apiVersion: "v1", kind: "List", items: laterDefinitions() });
  await waitFor(async () => (await tried(plainObject("WebhookPartner", { later: 1 }))) === "accepted", {
    timeoutMs: policyMsMax,
    what: "the definitions of a later release",
  });
  await mustRun(["create", "-f", "-"], inNamespace(plainObject("WebhookPartner", { later: 1 }, "from-before")));
  const { code, stderr } = await kube.kubectl(["apply", "-f", "-"], await rendered("helm", [], [template]));
  if (code !== 0) throw new Error(`the policy cannot be applied: ${stderr}`);
  await waitFor(async () => (await tried(plainObject("WebhookPartner", { later: 1 }))) !== "accepted", {
    timeoutMs: policyMsMax,
    what: "the policy to be in force",
  });
});

afterAll(async () => {
  await kube?.stop();
});

async function mustRun(args: readonly string[], input?: object): Promise<string> {
  const { code, stdout, stderr } = await kube.kubectl(args, input === undefined ? "" : JSON.stringify(input));
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

const inNamespace = (object: PlainObject, name = namespace): PlainObject => ({
  ...object,
  metadata: { ...object.metadata, namespace: name },
});

/** What the API server says about an object of the watched namespace: `accepted`, or the reason of the policy. */
async function tried(object: PlainObject, name = namespace): Promise<string> {
  const input = JSON.stringify(inNamespace(object, name));
  const { code, stderr } = await kube.kubectl(["create", "--dry-run=server", "-f", "-"], input);
  return code === 0 ? "accepted" : stderr.trim().replace(/^.* denied request: /u, "");
}

/** Definitions of a release to come: a field in objects, lists and lists of lists, and words of enumerations. */
function laterDefinitions(): readonly VersionedDefinition[] {
  const later = structuredClone(definitionsIn());
  for (const { spec } of later) {
    for (const version of spec.versions) {
      const { openAPIV3Schema } = version.schema as { readonly openAPIV3Schema: Schema };
      extend(openAPIV3Schema.properties?.["spec"]);
    }
  }
  return later;
}

function extend(schema: Schema | undefined): void {
  if (schema === undefined) return;
  if (schema.enum !== undefined) Object.assign(schema, { enum: [...schema.enum, "Later"] });
  extend(schema.items);
  if (schema.properties === undefined) return;
  for (const below of Object.values(schema.properties)) extend(below);
  Object.assign(schema.properties, { later: { type: "integer" } });
}

const laterFields: ReadonlyArray<readonly [kind: Kind, changes: Changes, said: string]> = [
  ["WebhookPartner", { later: 1 }, "spec: the installed Heliograph 0.1.0 does not know later"],
  ["WebhookPartner", { "endpoint.later": 1 }, "spec.endpoint: the installed Heliograph 0.1.0 does not know later"],
  ["WebhookPartner", { "signing.keys[0].secretRef.later": 1 }, "spec.signing.keys[].secretRef: the installed"],
  ["WebhookPartner", { state: "Later" }, "spec: the installed Heliograph 0.1.0 does not know state: Later"],
  ["MetricCatalog", { "metrics[0].source.gauge.later": 1 }, "spec.metrics[].source.gauge: the installed"],
  ["MetricCatalog", { "metrics[0].aggregations": ["avg", "Later"] }, "does not know aggregations: Later"],
  ["MetricCatalog", { "stores[1].prometheus.flavour": "Later" }, "spec.stores[].prometheus: the installed"],
  ["QueryClassQuota", { "limits.later": 1 }, "spec.limits: the installed Heliograph 0.1.0 does not know later"],
];

describe("where the definitions are of a later release than the programs, the chart's policy", () => {
  test.each(laterFields)("refuses a %s with %j by name", async (kind, changes, said) => {
    const answer = await tried(plainObject(kind, changes));
    expect(answer).toContain(said);
    expect(answer).toContain("upgrade it, or take that out");
  });

  test.each([largestCatalog(), largestPartner(), largestQuota()])(
    "has the budget to check the largest $kind, and accepts it",
    async (object) => {
      expect(await tried(object)).toBe("accepted");
    },
  );

  test("rejects an edit that adds such a field", async () => {
    await mustRun(["create", "-f", "-"], inNamespace(plainObject("QueryClassQuota", {}, "edited")));
    const patch = ["patch", "queryclassquota/edited", `--namespace=${namespace}`, "--type=merge", "--patch"];
    await expect(mustRun([...patch, JSON.stringify({ spec: { later: 1 } })])).rejects.toThrow("does not know later");
    await mustRun([...patch, JSON.stringify({ spec: { limits: { burst: 50 } } })]);
  });

  test("lets labels and the status of an object change that has such a field from before", async () => {
    const object = ["webhookpartner/from-before", `--namespace=${namespace}`];
    await mustRun(["label", ...object, "team=one"]);
    const status = JSON.stringify({ status: { observedGeneration: 1 } });
    await mustRun(["patch", ...object, "--subresource=status", "--type=merge", "--patch", status]);
    const fields = "--output=jsonpath={.metadata.labels.team} {.status.observedGeneration} {.spec.later}";
    expect(await mustRun(["get", ...object, fields])).toBe("one 1 1");
  });

  test("leaves namespaces alone that the release does not watch", async () => {
    expect(await tried(plainObject("WebhookPartner", { later: 1 }), "default")).toBe("accepted");
  });
});
