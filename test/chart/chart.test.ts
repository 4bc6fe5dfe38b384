import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { version } from "../../runtime/version.ts";
import { knownFieldsFiles } from "./known-fields.ts";
import { chartFolder, valuesSchemaText } from "./values-schema.ts";

const crds = join(dirname(dirname(chartFolder)), "crds");
const read = (path: string): string => readFileSync(join(chartFolder, path), "utf8");

describe("the chart", () => {
  test("holds the definitions of crds/, byte for byte, and no other", () => {
    const names = readdirSync(crds)
      .filter((name) => name.endsWith(".yaml"))
      .sort();
    expect(readdirSync(join(chartFolder, "files", "crds")).sort()).toEqual(names);
    for (const name of names) expect(read(`files/crds/${name}`)).toBe(readFileSync(join(crds, name), "utf8"));
  });

  test("mounts no file by subPath, which the kubelet never updates", () => {
    const templates = readdirSync(join(chartFolder, "templates"), { recursive: true, encoding: "utf8" });
    const files = templates.filter((name) => /\.(?:yaml|tpl)$/u.test(name));
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((name) => read(join("templates", name)).includes("subPath"))).toEqual([]);
  });

  test("has the version of the product", () => {
    expect(parse(read("Chart.yaml"))).toMatchObject({ version, appVersion: version });
  });

  test("has recipes of which none trusts a proxy, and of which that for production lets clients show certificates", () => {
    const folder = join(dirname(dirname(chartFolder)), "docs", "recipes");
    const recipes = readdirSync(folder).filter((name) => name.startsWith("values-"));
    const trusting = recipes.filter((name) => readFileSync(join(folder, name), "utf8").includes("trustedProxies"));
    expect({ trusting, recipes }).toEqual({
      trusting: [],
      recipes: expect.arrayContaining(["values-production.yaml"]),
    });
    const production = parse(readFileSync(join(folder, "values-production.yaml"), "utf8")) as object;
    expect(production).toMatchObject({
      runtime: { tls: { secret: expect.any(String), clientCaSecret: expect.any(String) } },
      tlsRoute: { enabled: true },
    });
  });

  test("has the fields of the definitions, and of no others; write them again with: npm run generate", () => {
    const files = knownFieldsFiles();
    expect(readdirSync(join(chartFolder, "files", "known-fields")).sort()).toEqual(
      files.map(({ path }) => basename(path)).sort(),
    );
    for (const { path, text } of files) expect(read(path)).toBe(text);
  });

  test("has the schema that its values make; write it again with: npm run generate", () => {
    expect(read("values.schema.json")).toBe(valuesSchemaText());
  });

  test("announces every kind and its latest change", () => {
    const { annotations } = parse(read("Chart.yaml")) as { readonly annotations: Readonly<Record<string, string>> };
    const announced = parse(annotations["artifacthub.io/crds"] ?? "") as ReadonlyArray<{
      readonly kind: string;
      readonly name: string;
    }>;
    const defined = readdirSync(crds)
      .filter((name) => name.endsWith(".yaml"))
      .map((name) => parse(readFileSync(join(crds, name), "utf8")) as Definition);
    expect(announced.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual(
      defined.map(({ metadata, spec }) => `${spec.names.kind} ${metadata.name}`).sort(),
    );
  });
});

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly names: { readonly kind: string } };
}
