import type { LockedPackage, LockFile } from "./production-packages.ts";

/** A CycloneDX document. Source: CycloneDX 1.5, JSON. */
export interface BillOfMaterials {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.5";
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
}

/** One thing that is shipped. */
interface Component {
  readonly type: "application" | "library";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  /** Package URL. Source: purl specification, type npm. */
  readonly purl: string;
  readonly licenses: ReadonlyArray<{ readonly license: { readonly name: string } }>;
  readonly hashes?: ReadonlyArray<{ readonly alg: "SHA-512"; readonly content: string }>;
}

/**
 * Packages with version, licence and checksum, as CycloneDX. It names no moment and no machine: equal inputs give equal
 * bytes. `npm sbom --omit=dev` is no help, since it leaves out packages that the product and work on it both need.
 *
 * @param paths of the packages in the lock file
 */
export function billOfMaterials(
  product: { readonly name: string; readonly version: string; readonly license: string },
  { packages }: LockFile,
  paths: readonly string[],
): BillOfMaterials {
  const libraries = paths.map((path) =>
    component("library", path.split("node_modules/").at(-1) ?? path, packages[path] ?? {}),
  );
  const byPurl = new Map(libraries.map((library) => [library.purl, library]));
  const components = [...byPurl.keys()].sort().flatMap((purl) => byPurl.get(purl) ?? []);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: component("application", product.name, product) },
    components,
  };
}

function component(
  type: Component["type"],
  name: string,
  { version = "", license, integrity = "" }: LockedPackage,
): Component {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const licenses = license === undefined ? [] : [{ license: { name: license } }];
  const [, sha512] = /^sha512-(\S+)/u.exec(integrity) ?? [];
  const content = sha512 === undefined ? undefined : Buffer.from(sha512, "base64").toString("hex");
  return {
    type,
    "bom-ref": purl,
    name,
    version,
    purl,
    licenses,
    ...(content === undefined ? {} : { hashes: [{ alg: "SHA-512", content }] }),
  };
}
