import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../../runtime/errors/api-error.ts";
import { parsePreviewRequest, readManifests, type PreviewRequest } from "../../../runtime/preview/preview-request.ts";

const examples = fileURLToPath(new URL("../../../docs/examples", import.meta.url));
const quota = (name: string, rest = "spec: { class: A }"): string =>
  `apiVersion: heliograph.dev/v1alpha1\nkind: QueryClassQuota\nmetadata: { name: ${name} }\n${rest}\n`;

const parse = (body: unknown): Promise<PreviewRequest> => parsePreviewRequest(Buffer.from(JSON.stringify(body)));
const namesOf = async (manifests: string): Promise<readonly string[]> =>
  (await parse({ manifests })).resources.map(({ kind, metadata }) => `${kind}/${metadata.namespace}/${metadata.name}`);

/** `field: detail` of each error. */
async function errorsOf(body: unknown): Promise<readonly string[]> {
  const refusal = await parse(body).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refusal).toBeInstanceOf(ApiError);
  return (refusal as ApiError).errors.map(({ field, detail }) => `${field}: ${detail}`);
}

const secretValue = "c2VjcmV0";

describe("manifests of a preview", () => {
  test.each([
    ["one document", quota("a"), ["QueryClassQuota/default/a"]],
    [
      "documents with comments and empty ones between",
      `# first\n---\n${quota("a")}---\n\n--- # next\n${quota("b")}`,
      ["QueryClassQuota/default/a", "QueryClassQuota/default/b"],
    ],
    [
      "lines that end as on Windows",
      `${quota("a")}---\n${quota("b")}`.replaceAll("\n", "\r\n"),
      ["QueryClassQuota/default/a", "QueryClassQuota/default/b"],
    ],
    [
      "a list, as kubectl prints one",
      `kind: List\napiVersion: v1\nitems:\n- ${quota("a").replaceAll("\n", "\n  ")}`,
      ["QueryClassQuota/default/a"],
    ],
    [
      "JSON",
      JSON.stringify({
        apiVersion: "heliograph.dev/v1alpha1",
        kind: "QueryClassQuota",
        metadata: { name: "a" },
        spec: { class: "A" },
      }),
      ["QueryClassQuota/default/a"],
    ],
    ["nothing", "\n---\n# nothing\n", []],
  ])("are the objects of %s", async (_title, manifests, names) => {
    expect(await namesOf(manifests)).toEqual(names);
  });

  test("of the examples are the resources of their files", async () => {
    const files = (await readdir(examples)).filter((file) => file.endsWith(".yaml"));
    const texts = await Promise.all(files.map(async (file) => readFile(join(examples, file), "utf8")));
    const all = texts.join("\n---\n");
    // Their Secrets are skipped.
    expect(all).toMatch(/^kind: Secret$/mu);
    const kinds = [...all.matchAll(/^kind: (\w+)$/gmu)].map(([, kind]) => kind).filter((kind) => kind !== "Secret");
    const names = await namesOf(all);
    expect(Map.groupBy(names, (name) => name.split("/")[0]).size).toBe(new Set(kinds).size);
    expect(names).toHaveLength(kinds.length);
    expect(kinds).toContain("EventCatalog");
  });

  test.each([
    [
      "a field that no resource has",
      `${quota("a")}---\n${quota("b", "spec:\n  class: A\n  limits: { maxSeries: 0 }")}`,
      /^manifests: line 11: spec\.limits\.maxSeries: /u,
    ],
    ["a document that cannot be read", `${quota("a")}---\nkind: [\n`, /^manifests: line \d+: /u],
    [
      "a Secret of an unknown version",
      `apiVersion: v2\nkind: Secret\nmetadata: { name: key }\ndata: { key: ${secretValue} }\n`,
      /^manifests: line 2: kind: /u,
    ],
    [
      "an object that is given twice",
      `${quota("a")}---\n${quota("a")}`,
      /^manifests: line 8: metadata\.name: .* is given twice/u,
    ],
    [
      "a document that is too long",
      `# ${"x".repeat(140_000)}\n${quota("a")}`,
      /^manifests: line 1: the document is longer than 131072 characters/u,
    ],
  ])("name the line of %s", async (_title, manifests, form) => {
    const errors = await errorsOf({ manifests });
    expect(errors.join("\n")).toMatch(form);
    // Neither a log nor a page may hold what a Secret holds.
    expect(errors.join("\n")).not.toContain(secretValue);
  });

  test("are given without resources, and one of both is", async () => {
    expect(await errorsOf({})).toEqual([expect.stringMatching(/^resources: Send either resources/u)]);
    expect(await errorsOf({ resources: [], manifests: "" })).toEqual([
      expect.stringMatching(/^resources: Send either/u),
    ]);
    expect(await errorsOf({ manifests: 1 })).toEqual([expect.stringMatching(/^manifests: manifests must be YAML/u)]);
    expect(await errorsOf({ manifests: "x".repeat(1_048_577) })).toEqual([expect.stringMatching(/^manifests: /u)]);
  });

  test("keep their lines, whatever stands before them", async () => {
    const before = ["", "# a\n\n", "---\n---\n", `${quota("z")}---\n`];
    for (const text of before) {
      const { objects } = await readManifests(`${text}${quota("a")}`);
      const found = objects.at(-1);
      expect(found?.lineOf("metadata.name")).toBe(text.split("\n").length + 2);
    }
  });
});
