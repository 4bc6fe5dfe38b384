import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Releases of Kubernetes whose schemas are pinned, one for each supported minor version. */
export const kubernetesVersions = ["1.33.13", "1.34.4", "1.35.4", "1.36.3"] as const;

/** Folder of the pinned schemas, which `node test/chart/pin-schemas.ts` writes. */
export const pinnedFolder = join(import.meta.dirname, "kubernetes");

/** The schemas of a release, as far as the chart may need them. */
export async function pinnedSchemas(version: (typeof kubernetesVersions)[number]): Promise<Swagger> {
  return JSON.parse(await readFile(join(pinnedFolder, `${version}.json`), "utf8")) as Swagger;
}

/** Swagger 2, as the API server publishes its types. */
export interface Swagger {
  readonly definitions: Readonly<Record<string, Definition>>;
}

/** One type of it. */
export interface Definition {
  readonly properties?: Readonly<Record<string, object>>;
  readonly "x-kubernetes-group-version-kind"?: ReadonlyArray<{
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }>;
}

/**
 * Writes JSON Schemas of every kind that an API server knows, in the layout that kubeconform reads with the location
 * `<folder>/{{.ResourceKind}}{{.KindSuffix}}.json`. Nothing but what is described is allowed.
 */
export async function writeSchemas({ definitions }: Swagger, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const closed = Object.entries(definitions).map(
    ([name, definition]) => [name, withoutMore(name, definition)] as const,
  );
  await writeFile(join(folder, "definitions.json"), JSON.stringify({ definitions: Object.fromEntries(closed) }));
  for (const [key, definition] of Object.entries(definitions)) {
    for (const { group, version, kind } of definition["x-kubernetes-group-version-kind"] ?? []) {
      const schema = { $ref: `definitions.json#/definitions/${key}` };
      const [shortGroup = ""] = group.split(".");
      const name = [kind, shortGroup, version]
        .filter((part) => part !== "")
        .join("-")
        .toLowerCase();
      await writeFile(join(folder, `${name}.json`), JSON.stringify(schema));
    }
  }
}

/** Numbers may be written where text is meant, as the API server allows for these two. */
const loose: Readonly<Record<string, object>> = {
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { type: ["string", "integer"] },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { type: ["string", "number"] },
};

function withoutMore(name: string, definition: Definition): object {
  if (loose[name] !== undefined) return loose[name];
  // A schema inside a definition of resources describes anything.
  const isOpen = definition.properties === undefined || name.endsWith("JSONSchemaProps");
  return isOpen ? definition : { ...definition, additionalProperties: false };
}
