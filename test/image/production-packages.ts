/** The part of package-lock.json that says what is installed where. */
export interface LockFile {
  /** By the path below the project; the project itself has the path "". */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** One package as package-lock.json pins it. */
export interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  /** Checksum as of Subresource Integrity. */
  readonly integrity?: string;
  /** Only work on the project needs it. */
  readonly dev?: boolean;
  /** Installed where the platform fits; neither the product nor what it needs has one. */
  readonly optional?: boolean;
}

/** Paths of the packages that the product needs to run, such as `node_modules/pino`, in order. */
export function productionPackages({ packages }: LockFile): readonly string[] {
  return Object.entries(packages)
    .filter(([path, { dev, optional }]) => path !== "" && dev !== true && optional !== true && !holdsTypes(path))
    .map(([path]) => path)
    .sort();
}

/** Packages that the build takes into the files of the console: the image has no folders of them. */
export const bundledPackages = ["oauth4webapi", "preact", "uplot"] as const;

/**
 * Paths of all packages that are shipped, in a folder of their own or in the files of the console, in order. The lock
 * file of a release before the console has none of the latter.
 */
export function shippedPackages(lock: LockFile): readonly string[] {
  const bundled = bundledPackages.map((name) => `node_modules/${name}`).filter((path) => path in lock.packages);
  return [...new Set([...productionPackages(lock), ...bundled])].sort();
}

/** Packages of types name each other as what they need, and libraries name them. */
function holdsTypes(path: string): boolean {
  return /(?:^|\/)node_modules\/(?:@types\/[^/]+|undici-types)$/u.test(path);
}

/** What nothing at run time reads: types, their sources, and maps to sources. */
const unread = /\.(?:[cm]?ts|map|flow|tsbuildinfo)$/u;

/** Whether a file of a package is shipped. Licences always are. */
export function isShipped(path: string): boolean {
  return !unread.test(path);
}
