import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { validateResource } from "../../crds/validate.ts";
import { startKubeApi, type KubeApiHandle } from "../support/kube-api.ts";
import { waitFor } from "../support/wait.ts";
import { definitionFiles, specSchemas } from "../tools/resource-types.ts";
import { acceptedRows } from "./accepted-rows.ts";
import { largestCatalog, largestPartner, largestQuota } from "./largest-objects.ts";
import { placedRules } from "./placed-schemas.ts";
import type { Row, RuleRow } from "./rows.ts";
import { ruleRows } from "./rule-rows.ts";
import { schemaRows, unknownFieldRows } from "./schema-rows.ts";
import { plainObject, type PlainObject } from "./valid-objects.ts";

const definitionsFolder = fileURLToPath(new URL("../../crds", import.meta.url));
const plurals = ["webhookpartners", "metriccatalogs", "queryclassquotas"];

/** Every row is one object of this name; the server's answers are told apart by it. */
const nameOf = (row: Row): string => `row-${allRows.indexOf(row)}`;
const allRows: readonly Row[] = [...acceptedRows, ...ruleRows, ...schemaRows];

let kube: KubeApiHandle;
/** What the API server says about each object that it refuses, by name. */
let refusals: ReadonlyMap<string, string>;

/** The output of a kubectl command that must succeed. */
async function mustRun(args: readonly string[], stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await kube.kubectl(args, stdin);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

function listOf(objects: readonly PlainObject[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
}

/** `… is invalid: <what>`, one line for each refused object. */
function readRefusals(stderr: string): readonly (readonly [string, string])[] {
  return [...stderr.matchAll(/heliograph\.dev "(?<name>row-\d+)" is invalid: (?<what>.*)$/gmu)].map((match) => {
    return [match.groups?.["name"] ?? "", match.groups?.["what"] ?? ""] as const;
  });
}

/** Where the API server reports a rule: at its place, which the row's field has the indices of, and its `fieldPath`. */
function clusterFields(row: RuleRow): readonly string[] {
  const rules = placedRules(specSchemas[row.kind], "spec").filter(({ message }) => message === row.message);
  return rules.flatMap(({ place, fieldPath = "" }) => {
    const form = place.replaceAll(".", "[.]").replaceAll("[]", String.raw`\[\d+\]`);
    return (new RegExp(`^${form}`, "u").exec(row.field) ?? []).map((at) => at + fieldPath);
  });
}

beforeAll(async () => {
  kube = await startKubeApi();
  for (const file of definitionFiles)
    await mustRun(["apply", "--server-side", "-f", `${definitionsFolder}/${file}.yaml`]);
  await waitFor(async () => (await kube.kubectl(["get", plurals.join(",")])).code === 0, {
    timeoutMs: 30_000,
    what: "the four kinds to be served",
  });

  const created = allRows.filter(({ replaces }) => replaces === undefined);
  const replaced = allRows.filter(({ replaces }) => replaces !== undefined);
  const before = replaced.map((row) => plainObject(row.kind, row.replaces, nameOf(row)));
  await mustRun(["create", "-f", "-"], listOf(before));

  const dryRun = ["--dry-run=server", "--validate=ignore", "-f", "-"];
  const objects = (rows: readonly Row[]) => rows.map((row) => plainObject(row.kind, row.set, nameOf(row)));
  const creation = await kube.kubectl(["create", ...dryRun], listOf(objects(created)));
  const replacement = await kube.kubectl(["replace", ...dryRun], listOf(objects(replaced)));
  refusals = new Map([...readRefusals(creation.stderr), ...readRefusals(replacement.stderr)]);
});

afterAll(async () => {
  await kube.stop();
});

describe("the API server", () => {
  for (const row of acceptedRows) {
    test(`accepts a ${row.kind} that ${row.says}`, () => {
      expect(refusals.get(nameOf(row))).toBeUndefined();
    });
  }

  for (const row of ruleRows) {
    test(`refuses, for this alone, a ${row.kind} that ${row.says}`, () => {
      const refusal = refusals.get(nameOf(row)) ?? "";
      const [field = "", ...others] = clusterFields(row);
      expect(others).toEqual([]);
      expect(refusal.slice(0, field.length)).toBe(field);
      expect(refusal.slice(field.length)).toMatch(/^: Invalid value: /u);
      expect(refusal.slice(-row.message.length)).toBe(row.message);
    });
  }

  for (const row of schemaRows) {
    test(`refuses by its schema a ${row.kind} that ${row.says}`, () => {
      const refusal = refusals.get(nameOf(row)) ?? "";
      expect(refusal.replace(/^\[/u, "").split(": ")[0]).toBe(row.field);
    });
  }

  for (const row of unknownFieldRows) {
    test(`refuses strictly a ${row.kind} that ${row.says}`, async () => {
      const object = JSON.stringify(plainObject(row.kind, row.set));
      const { stderr } = await kube.kubectl(["create", "--dry-run=server", "-f", "-"], object);
      expect(stderr).toContain(`unknown field "${row.field}"`);
    });
  }

  test("fills the same defaults as validation without a cluster", async () => {
    const rows = acceptedRows.filter(({ replaces }) => replaces === undefined);
    const objects = rows.map((row) => plainObject(row.kind, row.set, nameOf(row)));
    const onlySpecs = ["-o", String.raw`jsonpath={.spec}{"\n"}`];
    const output = await mustRun(["create", "--dry-run=server", ...onlySpecs, "-f", "-"], listOf(objects));
    const specs = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(specs).toEqual(objects.map((object) => validateResource(object).resource?.spec));
  });

  test.each([largestCatalog(), largestPartner(), largestQuota()])(
    "has the budget to check the rules of the largest $kind when it is made and when it changes",
    async (object) => {
      expect(validateResource(object).problems).toEqual([]);
      await mustRun(["create", "-f", "-"], JSON.stringify(object));
      await mustRun(["replace", "-f", "-"], JSON.stringify(object));
    },
  );

  test("explains a field of each kind and shows the columns of each", async () => {
    for (const field of ["wp.spec.retry.scheduleSeconds", "mcat.spec.metrics.source", "qcq.spec.limits"])
      expect(await mustRun(["explain", field])).toContain("DESCRIPTION");
    await mustRun(["create", "-f", "-"], JSON.stringify(plainObject("WebhookPartner")));
    expect(await mustRun(["get", "heliograph", "-o", "wide"])).toMatch(
      /NAME +READY +REASON +HOST +STATE +PROGRAMMED +SCHEME +AGE/u,
    );
  });
});
