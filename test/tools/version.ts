/** A version as three numbers; whatever follows them (pre-release, build) is left out. */
export type Version = readonly [major: number, minor: number, patch: number];

const versionPattern = /(?<![\d.])v?(\d+)\.(\d+)(?:\.(\d+))?/u;

/**
 * The version in the first line of what a program prints about itself. Later lines are left out because programs built
 * without a version of their own print that of the Go compiler there.
 */
export function parseVersion(output: string): Version | undefined {
  const match = versionPattern.exec(output.trimStart().split("\n", 1)[0] ?? "");
  return match === null ? undefined : [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
}

/** Whether a version is the minimum or newer. */
export function isAtLeast(version: Version, minimum: Version): boolean {
  const difference = version[0] - minimum[0] || version[1] - minimum[1] || version[2] - minimum[2];
  return difference >= 0;
}

/** A version as people write it: `2.14.0`. */
export function formatVersion(version: Version): string {
  return version.join(".");
}
