import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { definitionFiles } from "../tools/resource-types.ts";

/** A version of a kind, as its definition lists it. */
interface DefinedVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: object;
}

/** What the tests of versions read and change of a CustomResourceDefinition. */
export interface VersionedDefinition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly DefinedVersion[];
  };
}

/** Version names of a definition: those that are served, and the one that is stored. */
export interface ServedVersions {
  readonly served: readonly string[];
  readonly stored: string;
}

const crds = fileURLToPath(new URL("../../crds", import.meta.url));

/** The definitions in a folder of today or of an earlier release. @default those of the checkout */
export function definitionsIn(folder = crds): readonly VersionedDefinition[] {
  return definitionFiles
    .filter((file) => existsSync(`${folder}/${file}.yaml`))
    .map((file) => parse(readFileSync(`${folder}/${file}.yaml`, "utf8")) as VersionedDefinition);
}

/** A definition that serves the schema of `v1alpha1` under further names too, as the path to v1 has it. */
export function withVersions(definition: VersionedDefinition, { served, stored }: ServedVersions): VersionedDefinition {
  const [first] = definition.spec.versions;
  if (first === undefined) throw new Error(`${definition.metadata.name} has no version`);
  const versions = served.map((name) => ({ ...first, name, served: true, storage: name === stored }));
  return { ...definition, spec: { ...definition.spec, versions } };
}
