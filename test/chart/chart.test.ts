import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { version } from "../../runtime/version.ts";
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

  test("has the version of the product", () => {
    expect(parse(read("Chart.yaml"))).toMatchObject({ version, appVersion: version });
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
