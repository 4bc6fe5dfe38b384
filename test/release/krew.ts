import { createHash } from "node:crypto";
import { chmod, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { repository } from "./names.ts";

/** Folder of the archive. */
export const krewFolder = "kubectl-heliograph";
const entry = "bin/kubectl-heliograph.js";
const programMode = 0o755;

/** The archive of a version, as the page of its release names it. */
export function krewArchive(version: string): string {
  return `kubectl-heliograph-${version}.tar.gz`;
}

/** Puts the compiled product and its packages into a folder, as the plugin runs them. */
export async function writeKrewFiles(compiled: string, work: string): Promise<void> {
  const folder = join(work, krewFolder);
  await mkdir(folder, { recursive: true });
  for (const name of [
    "api",
    "bin",
    "cli",
    "crds",
    "demo",
    "kube",
    "limits",
    "network",
    "node_modules",
    "runtime",
    "package.json",
    "LICENSE",
  ])
    await cp(join(compiled, name), join(folder, name), { recursive: true });
  // The operator runs from the image only.
  await rm(join(folder, "cli", "operator"), { recursive: true });
  await chmod(join(folder, entry), programMode);
}

/**
 * The manifest of the plugin for krew. Source: krew's Developer Guide, "Plugin manifest", v1alpha2.
 *
 * @param archive path of the archive that the release publishes
 */
export async function writeKrewManifest(version: string, archive: string, target: string): Promise<void> {
  const sha256 = createHash("sha256")
    .update(await readFile(archive))
    .digest("hex");
  const page = `https://github.com/${repository}`;
  const manifest = {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "heliograph" },
    spec: {
      version: `v${version}`,
      homepage: page,
      shortDescription: "Send, follow and query signed webhooks and metrics",
      description:
        "Sends events, follows and replays deliveries, and queries metrics of a Heliograph runtime in the cluster.\n" +
        "Lists what keeps its resources from being ready.\n",
      caveats: "Needs Node.js 24 or newer on PATH.\n",
      platforms: [
        {
          selector: { matchExpressions: [{ key: "os", operator: "In", values: ["linux", "darwin"] }] },
          uri: `${page}/releases/download/v${version}/${krewArchive(version)}`,
          sha256,
          bin: `${krewFolder}/${entry}`,
        },
      ],
    },
  };
  await writeFile(join(target, "heliograph.yaml"), stringify(manifest));
}
