import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveTool } from "../tools/resolve.ts";
import { run, succeed } from "../tools/run.ts";
import type { ImageRecipe } from "./dockerfile.ts";
import { chartIn, chartsIn, imageIn } from "./names.ts";

/** What goes where. */
export interface PushRequest {
  /** The folder that `buildRelease` wrote. */
  readonly folder: string;
  readonly version: string;
  /** Host and folder, such as `ghcr.io/heliograph-dev`. */
  readonly registry: string;
  /** For a registry of this machine. @default false */
  readonly plainHttp?: boolean;
  /** @default amd64 and arm64 */
  readonly platforms?: readonly string[];
}

/** What was pushed, each by its digest. */
export interface Pushed {
  readonly image: string;
  readonly chart: string;
}

const pushMsMax = 10 * 60_000;
const bothPlatforms = ["linux/amd64", "linux/arm64"];

/**
 * Pushes the image of every platform, the chart, and what Artifact Hub reads about the chart. The image is the layer of
 * the product over the base of each platform. No daemon takes part, so that the same code runs against any registry.
 *
 * @throws Error with the last lines of the program that failed
 */
export async function pushRelease(request: PushRequest): Promise<Pushed> {
  const image = await pushImage(request);
  const chart = await pushChart(request);
  await pushHubFile(request);
  return { image, chart };
}

async function crane(request: PushRequest, args: readonly string[]): Promise<string> {
  const insecure = request.plainHttp === true ? ["--insecure"] : [];
  const output = await succeed(await resolveTool("crane"), [...args, ...insecure], { timeoutMs: pushMsMax });
  return output.trim().split("\n").at(-1) ?? "";
}

async function pushImage(request: PushRequest): Promise<string> {
  const { folder, registry, version, platforms = bothPlatforms } = request;
  const recipe = JSON.parse(await readFile(join(folder, "image", "recipe.json"), "utf8")) as ImageRecipe;
  // The tag of the base may move between the platforms.
  const index = `${baseRepository(recipe)}@${await crane(request, ["digest", recipe.base])}`;
  const images: string[] = [];
  for (const platform of platforms) {
    const digest = await crane(request, ["digest", index, "--platform", platform]);
    const flags = [
      "--append",
      join(folder, "image", "layer.tar.gz"),
      "--set-platform",
      platform,
      "--repo",
      imageIn(registry),
    ];
    const own = [...flags, ...configFlags(recipe), ...baseFlags(recipe.base, digest)];
    images.push(await crane(request, ["mutate", `${baseRepository(recipe)}@${digest}`, ...own]));
  }
  const manifests = images.flatMap((reference) => ["--manifest", reference]);
  return crane(request, ["index", "append", ...manifests, "--tag", `${imageIn(registry)}:${version}`]);
}

/** The name of the base without its tag. */
function baseRepository({ base }: ImageRecipe): string {
  return base.replace(/:[^/:]+$/u, "");
}

function configFlags({ config }: ImageRecipe): readonly string[] {
  const single = {
    workdir: config.workdir,
    user: config.user,
    "exposed-ports": config.ports.map((port) => `${port}/tcp`).join(","),
    entrypoint: config.entrypoint.join(","),
    cmd: config.cmd.join(","),
  };
  return [
    ...Object.entries(config.labels).flatMap((entry) => ["--label", listed(entry)]),
    ...Object.entries(config.env).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    ...Object.entries(single).flatMap(([name, value]) => [`--${name}`, value]),
  ];
}

function baseFlags(name: string, digest: string): readonly string[] {
  const base = { "org.opencontainers.image.base.name": name, "org.opencontainers.image.base.digest": digest };
  return Object.entries(base).flatMap((entry) => ["--annotation", listed(entry)]);
}

/** One entry of a flag that takes a list with commas between its entries. */
function listed([name, value]: readonly [string, string]): string {
  return `"${name}=${value.replaceAll('"', '""')}"`;
}

async function pushChart({ folder, registry, version, plainHttp = false }: PushRequest): Promise<string> {
  const archive = join(folder, "files", `heliograph-${version}.tgz`);
  const args = ["push", archive, `oci://${chartsIn(registry)}`, ...(plainHttp ? ["--plain-http"] : [])];
  const { code, stdout, stderr } = await run(await resolveTool("helm"), args, { timeoutMs: pushMsMax });
  const [digest] = /sha256:[0-9a-f]{64}/u.exec(stdout + stderr) ?? [];
  if (code !== 0 || digest === undefined) throw new Error(`helm push failed:\n${stderr}`);
  return `${chartIn(registry)}@${digest}`;
}

const hubType = "application/vnd.cncf.artifacthub";

/** Artifact Hub reads this file from a tag beside the chart. Source: Artifact Hub, "Helm charts repositories", OCI. */
async function pushHubFile(request: PushRequest): Promise<void> {
  const layout = join(request.folder, "artifacthub");
  await rm(layout, { recursive: true, force: true });
  const file = await readFile(join(request.folder, "artifacthub-repo.yml"));
  const config = await writeBlob(layout, `${hubType}.config.v1+yaml`, Buffer.from(""));
  const layer = await writeBlob(layout, `${hubType}.repository-metadata.layer.v1.yaml`, file);
  const type = "application/vnd.oci.image.manifest.v1+json";
  const manifest = { schemaVersion: 2, mediaType: type, config, layers: [layer] };
  const manifests = [await writeBlob(layout, type, Buffer.from(JSON.stringify(manifest)))];
  await writeFile(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests }));
  await writeFile(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await crane(request, ["push", layout, `${chartIn(request.registry)}:artifacthub.io`]);
}

async function writeBlob(layout: string, mediaType: string, bytes: Buffer): Promise<object> {
  const hash = createHash("sha256").update(bytes).digest("hex");
  await mkdir(join(layout, "blobs", "sha256"), { recursive: true });
  await writeFile(join(layout, "blobs", "sha256", hash), bytes);
  return { mediaType, digest: `sha256:${hash}`, size: bytes.length };
}
