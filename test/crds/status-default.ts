import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** What the API server says of a new object whose definition is in `crds/<name>.yaml`. */
export function statusDefault(name: string): unknown {
  const path = join(import.meta.dirname, "..", "..", "crds", `${name}.yaml`);
  const { spec } = parse(readFileSync(path, "utf8")) as Definition;
  return spec.versions[0]?.schema.openAPIV3Schema.properties.status.default;
}

interface Definition {
  readonly spec: {
    readonly versions: ReadonlyArray<{
      readonly schema: {
        readonly openAPIV3Schema: { readonly properties: { readonly status: { readonly default: unknown } } };
      };
    }>;
  };
}
