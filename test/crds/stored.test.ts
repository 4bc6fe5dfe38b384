import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { allowAll } from "../../crds/policy.ts";
import { compile } from "../../crds/compile/compile.ts";
import { validateResource } from "../../crds/validate.ts";
import { kinds } from "../../crds/types/schemas.ts";
import { plainObject } from "./valid-objects.ts";

const folder = fileURLToPath(new URL("stored/v1alpha1", import.meta.url));
const versions = readdirSync(folder);

/** The specs that a released schema stored, defaults included. */
function storedSpecs(version: string, kind: string): readonly object[] {
  const text = readFileSync(`${folder}/${version}/${kind}.jsonl`, "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
}

describe.each(versions)("what %s stored", (version) => {
  // A release that had not heard of a kind stored nothing of it.
  test.each(kinds.filter((kind) => existsSync(`${folder}/${version}/${kind}.jsonl`)))(
    "as a %s is accepted today, and keeps every field as it is",
    (kind) => {
      const specs = storedSpecs(version, kind);
      expect(specs.length).toBeGreaterThan(10);
      for (const spec of specs) {
        const { resource, problems } = validateResource({ ...plainObject(kind), spec });
        expect({ spec, problems }).toEqual({ spec, problems: [] });
        if (resource === undefined) continue;
        expect(resource.spec).toMatchObject(spec);
        const { results } = compile({ resources: [resource], secrets: new Map(), policy: allowAll });
        expect(results.map(({ accepted }) => accepted.reason)).toEqual(["Accepted"]);
      }
    },
  );
});
