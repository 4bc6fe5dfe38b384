import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { validateResource } from "../../crds/validate.ts";
import { textOf } from "../architecture/named-files.ts";
import { generatedPages } from "./generate-pages.ts";
import { resourceExamples } from "./resource-examples.ts";

describe("the generated pages", () => {
  test.each(generatedPages().map(({ path, text }) => [path, text] as const))(
    "%s is what `npm run generate` writes",
    (path, text) => {
      expect(textOf(path)).toBe(text);
    },
  );

  test.each(Object.entries(resourceExamples))("the example of %s is valid", (kind, example) => {
    const objects = parseAllDocuments(example).map((document) => document.toJS() as { readonly kind: string });
    const own = objects.filter((object) => object.kind === kind);
    expect(own).toHaveLength(1);
    expect(own.flatMap((object) => validateResource(object).problems)).toEqual([]);
  });
});
