import { describe, expect, test } from "vitest";
import { noObjects, readObjects, type FolderObjects } from "../../../../runtime/config/folder/folder-objects.ts";
import { readYaml } from "../../../../runtime/config/yaml/yaml-documents.ts";
import { plainObject } from "../../../crds/valid-objects.ts";

const partner = (name: string, changes = {}) => JSON.stringify(plainObject("WebhookPartner", changes, name));
const secret = (name: string, data = 'stringData: {hmac: "x"}') =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\n${data}\n`;

function read(files: Readonly<Record<string, string>>, previous: FolderObjects = noObjects): FolderObjects {
  return readObjects(
    Object.entries(files).map(([name, text]) => ({ name, ...readYaml(name, text) })),
    previous,
  );
}

const keys = ({ objects }: FolderObjects) => [...objects.keys()];
const lines = ({ problems }: FolderObjects) =>
  problems.map(({ file, line, field, reason, message }) => `${file}:${line}: ${field}: ${reason}: ${message}`);

describe("the objects of a folder", () => {
  test("are the three kinds and Secrets, of every document and file", () => {
    const objects = read({
      "a.yaml": `${partner("acme")}\n---\n${secret("keys")}`,
      "b.json": JSON.stringify(plainObject("MetricCatalog")),
      "c.yaml": JSON.stringify(plainObject("QueryClassQuota")),
    });
    expect(lines(objects)).toEqual([]);
    expect(keys(objects)).toEqual([
      "WebhookPartner/default/acme",
      "Secret/default/keys",
      "MetricCatalog/default/example",
      "QueryClassQuota/default/example",
    ]);
  });

  test("may stand in a List", () => {
    const list = {
      apiVersion: "v1",
      kind: "List",
      items: [plainObject("WebhookPartner"), plainObject("MetricCatalog")],
    };
    expect(keys(read({ "a.json": JSON.stringify(list) }))).toEqual([
      "WebhookPartner/default/example",
      "MetricCatalog/default/example",
    ]);
  });

  test("leave ConfigMaps alone", () => {
    const objects = read({ "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}\n" });
    expect([keys(objects), lines(objects)]).toEqual([[], []]);
  });

  test("live in the namespace default unless they name another", () => {
    const objects = read({ "a.yaml": `${secret("one")}---\n${secret("two").replace("two", "two, namespace: bank")}` });
    expect(keys(objects)).toEqual(["Secret/default/one", "Secret/bank/two"]);
  });
});

describe("a problem names file, line, field and reason of", () => {
  test.each([
    [
      "an unknown kind",
      "apiVersion: v1\nkind: Pod\n",
      "a.yaml:1: apiVersion: NotSupported: v1 with kind Pod is not known here",
    ],
    [
      "an unknown kind of our group",
      "kind: WebhookPartners\napiVersion: heliograph.dev/v1alpha1\n",
      /^a\.yaml:1: kind: NotSupported: /u,
    ],
    [
      "a version of our group that there is not",
      "kind: WebhookPartner\napiVersion: heliograph.dev/v9\n",
      "a.yaml:2: apiVersion: NotSupported: heliograph.dev/v9 with kind WebhookPartner is not known here",
    ],
    ["no type at all", "spec: {}\n", "a.yaml:1: apiVersion: NotSupported: no apiVersion with kind  is not known here"],
    ["a document that is no object", "- a\n", "a.yaml:1: : WrongType: is not an object"],
    ["a List without a list", "apiVersion: v1\nkind: List\nitems: 7\n", "a.yaml:3: items: WrongType: must be a list"],
    [
      "a Secret without a name",
      "apiVersion: v1\nkind: Secret\nmetadata: {}\n",
      "a.yaml:3: metadata.name: Required: is required",
    ],
    ["bad base64", secret("s", "data:\n  ok: eA==\n  bad: '*'"), "a.yaml:6: data.bad: Malformed: must be base64 text"],
    [
      "an item of a List",
      "apiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: Secret\n    metadata: {name: s}\n    " +
        "data:\n      bad: '*'\n",
      "a.yaml:8: data.bad: Malformed: must be base64 text",
    ],
  ])("%s", (_name, text, expected) => {
    expect(lines(read({ "a.yaml": text }))).toEqual([expect.stringMatching(expected)]);
  });

  test("a field of a resource", () => {
    const text = partner("acme", { "endpoint.url": "ftp://x" }).replace('"spec":', '\n"spec":');
    const [line] = lines(read({ "a.yaml": text }));
    expect(line).toMatch(/^a\.yaml:2: spec\.endpoint\.url: /u);
  });

  test("the second of two objects of one name, in one file or two", () => {
    const objects = read({ "a.yaml": `\n${partner("acme")}\n---\n${partner("acme")}`, "b.yaml": partner("acme") });
    const message = "WebhookPartner/default/acme is already defined in a.yaml:2; that definition is used";
    expect(lines(objects)).toEqual([
      `a.yaml:4: metadata.name: Duplicate: ${message}`,
      `b.yaml:1: metadata.name: Duplicate: ${message}`,
    ]);
    expect(objects.objects.get("WebhookPartner/default/acme")?.file).toBe("a.yaml");
  });
});

describe("after an edit", () => {
  const before = read({ "a.yaml": `${partner("acme")}\n---\n${partner("beta")}`, "s.yaml": secret("keys") });

  test("an object that is not valid any more stays as it was, and so do the others", () => {
    const after = read(
      {
        "a.yaml": `${partner("acme", { "endpoint.url": "ftp://x" })}\n---\n${partner("beta")}`,
        "s.yaml": secret("keys", "data: {hmac: '*'}"),
      },
      before,
    );
    const key = "WebhookPartner/default/acme";
    expect(after.objects.get(key)?.resource).toEqual(before.objects.get(key)?.resource);
    expect(after.kept).toEqual([key, "Secret/default/keys"]);
    expect(after.problems).toHaveLength(2);
  });

  test("a file that cannot be parsed keeps all that it gave before", () => {
    const after = read({ "a.yaml": "kind: [", "s.yaml": secret("keys") }, before);
    expect(after.kept).toEqual(["WebhookPartner/default/acme", "WebhookPartner/default/beta"]);
    expect(keys(after)).toHaveLength(3);
  });

  test("a document that cannot be parsed keeps what it gave, and the rest of the file applies", () => {
    const edited = partner("beta", { "endpoint.timeoutSeconds": 3 });
    const after = read({ "a.yaml": `kind: [\n---\n${edited}`, "s.yaml": secret("keys") }, before);
    expect(after.kept).toEqual(["WebhookPartner/default/acme"]);
    expect(after.objects.get("WebhookPartner/default/beta")?.resource).toMatchObject({
      spec: { endpoint: { timeoutSeconds: 3 } },
    });
  });

  test("what is kept stays kept over further edits, and goes when the file is mended", () => {
    const broken = read(
      { "a.yaml": "kind: [", "s.yaml": secret("keys") },
      read({ "a.yaml": "a: [", "s.yaml": secret("keys") }, before),
    );
    expect(broken.kept).toHaveLength(2);
    const mended = read({ "a.yaml": partner("beta"), "s.yaml": secret("keys") }, broken);
    expect([keys(mended), mended.kept]).toEqual([["WebhookPartner/default/beta", "Secret/default/keys"], []]);
  });

  test("an object moved out of a broken file is not kept twice", () => {
    const after = read({ "a.yaml": "kind: [", "b.yaml": partner("acme"), "s.yaml": secret("keys") }, before);
    expect(after.kept).toEqual(["WebhookPartner/default/beta"]);
    expect(after.objects.get("WebhookPartner/default/acme")?.file).toBe("b.yaml");
  });

  test("objects of a file that is gone are gone", () => {
    expect(keys(read({ "s.yaml": secret("keys") }, before))).toEqual(["Secret/default/keys"]);
  });
});
