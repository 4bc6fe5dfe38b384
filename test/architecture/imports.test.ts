import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findRing, importsOf, readImports, sourceFiles } from "./source-imports.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folders = ["crds", "kube", "operator", "runtime"];
const imports = readImports(root, folders);

/** What each folder may import of ours, besides itself. The longest matching folder decides. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  "crds/": [],
  "kube/": [],
  "operator/": ["crds/", "kube/"],
  "runtime/bounds/": [],
  "runtime/pods/": [],
  "runtime/errors/": [],
  "runtime/json/": ["runtime/errors/"],
  "runtime/config/": ["crds/", "runtime/errors/"],
  "runtime/nats/": ["crds/", "runtime/bounds/", "runtime/pods/", "runtime/errors/", "runtime/config/"],
  "runtime/stores/": ["crds/", "runtime/bounds/", "runtime/errors/"],
  "runtime/webhooks/": [
    "crds/",
    "runtime/bounds/",
    "runtime/pods/",
    "runtime/errors/",
    "runtime/json/",
    "runtime/config/",
    "runtime/nats/",
  ],
  "runtime/metrics/": [
    "crds/",
    "runtime/bounds/",
    "runtime/pods/",
    "runtime/errors/",
    "runtime/json/",
    "runtime/config/",
    "runtime/nats/",
    "runtime/stores/",
  ],
  "runtime/webhooks/signing/": ["crds/signing-key.ts"],
  "runtime/recipient/": ["crds/signing-key.ts", "runtime/webhooks/signing/"],
  "runtime/http/": [
    "crds/",
    "runtime/bounds/",
    "runtime/errors/",
    "runtime/config/",
    "runtime/webhooks/",
    "runtime/metrics/",
  ],
  "runtime/": ["crds/", "runtime/"],
};

/** The only folders that may import each outside technology. */
const packageOwners: Readonly<Record<string, readonly string[]>> = {
  "@kubernetes/client-node": ["kube/", "runtime/config/"],
  fastify: ["runtime/http/"],
  "@nats-io/transport-node": ["runtime/nats/"],
  "@nats-io/jetstream": ["runtime/nats/"],
  "@nats-io/kv": ["runtime/nats/"],
  "@nats-io/nats-core": ["runtime/nats/"],
  jose: ["runtime/http/", "runtime/cli/", "runtime/webhooks/"],
};

function folderRule(file: string): string {
  const rules = Object.keys(mayImport).filter((folder) => file.startsWith(folder));
  return rules.sort((a, b) => b.length - a.length)[0] ?? "";
}

describe("imports", () => {
  test("stay inside what each folder may import", () => {
    const breaches = imports.filter(({ from, to, isPackage }) => {
      const rule = folderRule(from);
      return !isPackage && !to.startsWith(rule) && !(mayImport[rule] ?? []).some((allowed) => to.startsWith(allowed));
    });
    expect(breaches.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test("leave each outside technology to the folder that owns it", () => {
    const breaches = imports.filter(({ from, to, isPackage }) => {
      const owners = isPackage ? packageOwners[to] : undefined;
      return owners !== undefined && !owners.some((owner) => from.startsWith(owner));
    });
    expect(breaches.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test("form no ring", () => {
    expect(findRing(imports)).toBeUndefined();
  });

  test("of tests are never taken by the product", () => {
    expect(imports.filter(({ to }) => to.startsWith("test/"))).toEqual([]);
  });
});

describe("files", () => {
  test("carry no barrel and no junk-drawer name", () => {
    const forbidden = /(?:^|\/)(?:index|utils?|helpers?|common|misc)\.ts$/u;
    expect(sourceFiles(root, [...folders, "test"]).filter((file) => forbidden.test(file))).toEqual([]);
  });
});

describe("the import reader", () => {
  test("reads static, type, re-exporting, bare and dynamic imports", () => {
    const text = [
      'import { a } from "../b/c.ts";',
      'import type {\n  D,\n} from "./d.ts";',
      'export { e } from "./e.ts";',
      'import "node:fs";',
      'const f = await import("@scope/name/deep");',
    ].join("\n");
    expect(importsOf("x/y/z.ts", text).map(({ to }) => to)).toEqual([
      "x/b/c.ts",
      "x/y/d.ts",
      "x/y/e.ts",
      "node:fs",
      "@scope/name",
    ]);
  });

  test("finds a ring through three files", () => {
    const edge = (from: string, to: string) => ({ from, to, isPackage: false });
    expect(findRing([edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("z", "a")])).toEqual(["a", "b", "c"]);
  });
});
