import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { packPath, type PackHeader } from "./previous-release.ts";

/** What the chart and the image of a release are made of. */
const packedPaths = [
  "api",
  "charts/heliograph",
  "cli",
  "crds",
  "demo",
  "kube",
  "limits",
  "network",
  "operator",
  "runtime",
  "Dockerfile",
  "LICENSE",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "test/image/tsconfig.json",
];
const tarBytesMax = 64 * 1024 * 1024;
const lineCharacters = 120;

/** The packed form of a commit: a line of JSON, then base64 of a tar archive that brotli compressed. */
function packOf(commit: string): string {
  const root = dirname(dirname(import.meta.dirname));
  const git = (args: readonly string[]): Buffer => execFileSync("git", args, { cwd: root, maxBuffer: tarBytesMax });
  const revision = git(["rev-parse", "--verify", `${commit}^{commit}`])
    .toString()
    .trim();
  // A release before a folder was made has none.
  const isThere = (path: string): boolean => git(["ls-tree", revision, "--", path]).length > 0;
  const tar = git(["archive", "--format=tar", revision, "--", ...packedPaths.filter(isThere)]);
  const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
  const lines = brotliCompressSync(tar, { params })
    .toString("base64")
    .match(new RegExp(`.{1,${lineCharacters}}`, "gu"));
  const header: PackHeader = { commit: revision, tarSha256: createHash("sha256").update(tar).digest("hex") };
  return `${JSON.stringify(header)}\n${(lines ?? []).join("\n")}\n`;
}

/** Packs the release from which installations upgrade: node test/e2e/pack-release.ts COMMIT */
if (import.meta.main) {
  const [commit = "HEAD"] = process.argv.slice(2);
  const pack = packOf(commit);
  writeFileSync(packPath, pack);
  process.stdout.write(`${packPath} holds ${commit} in ${pack.length} bytes\n`);
}
